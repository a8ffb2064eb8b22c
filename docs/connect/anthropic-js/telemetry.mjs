// Loaded before the agent: the OpenTelemetry SDK, which the environment configures, with OpenInference for Anthropic's client.

import Anthropic from '@anthropic-ai/sdk';
import { AnthropicInstrumentation } from '@arizeai/openinference-instrumentation-anthropic';
import { NodeSDK } from '@opentelemetry/sdk-node';

const instrumentation = new AnthropicInstrumentation();
instrumentation.manuallyInstrument(Anthropic);
const sdk = new NodeSDK({ instrumentations: [instrumentation] });
sdk.start();
process.once('beforeExit', () => sdk.shutdown());
