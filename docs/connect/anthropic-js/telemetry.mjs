// Loaded before the agent: the OpenTelemetry SDK, which the environment configures.

import { NodeSDK } from '@opentelemetry/sdk-node';

const sdk = new NodeSDK();
sdk.start();
process.once('beforeExit', () => sdk.shutdown().catch((error) => console.error(`No traces were sent: ${error.message}`)));
