// Loaded before the agent: the OpenTelemetry SDK, which the environment configures, with OpenInference for LangChain.

import { LangChainInstrumentation } from '@arizeai/openinference-instrumentation-langchain';
import * as callbacks from '@langchain/core/callbacks/manager';
import { NodeSDK } from '@opentelemetry/sdk-node';

const instrumentation = new LangChainInstrumentation();
instrumentation.manuallyInstrument(callbacks);
const sdk = new NodeSDK({ instrumentations: [instrumentation] });
sdk.start();
process.once('beforeExit', () => sdk.shutdown().catch((error) => console.error(`No traces were sent: ${error.message}`)));
