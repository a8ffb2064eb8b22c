// Loaded before the agent: the OpenTelemetry SDK, which the environment configures, with OpenInference for OpenAI's client.

import { OpenAIInstrumentation } from '@arizeai/openinference-instrumentation-openai';
import { NodeSDK } from '@opentelemetry/sdk-node';
import OpenAI from 'openai';

const instrumentation = new OpenAIInstrumentation();
instrumentation.manuallyInstrument(OpenAI);
const sdk = new NodeSDK({ instrumentations: [instrumentation] });
sdk.start();
process.once('beforeExit', () => sdk.shutdown().catch((error) => console.error(`No traces were sent: ${error.message}`)));
