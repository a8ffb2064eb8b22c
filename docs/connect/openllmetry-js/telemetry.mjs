// Loaded before the agent: Traceloop's SDK, which the environment configures.

import * as traceloop from '@traceloop/node-server-sdk';
import OpenAI from 'openai';

traceloop.initialize({ instrumentModules: { openAI: OpenAI }, silenceInitializationMessage: true });
process.once('beforeExit', () => traceloop.forceFlush().catch((error) => console.error(`No traces were sent: ${error.message}`)));
