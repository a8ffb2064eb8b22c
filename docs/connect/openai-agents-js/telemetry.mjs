// Loaded before the agent: the OpenTelemetry SDK, which the environment configures, with OpenInference for OpenAI's Agents SDK.

import { OpenAIAgentsInstrumentation } from '@arizeai/openinference-instrumentation-openai-agents';
import * as agents from '@openai/agents';
import { NodeSDK } from '@opentelemetry/sdk-node';

const instrumentation = new OpenAIAgentsInstrumentation();
instrumentation.manuallyInstrument(agents);
const sdk = new NodeSDK({ instrumentations: [instrumentation] });
sdk.start();
process.once('beforeExit', () => sdk.shutdown().catch((error) => console.error(`No traces were sent: ${error.message}`)));
