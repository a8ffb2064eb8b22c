// Loaded before the agent: the OpenTelemetry SDK, with an exporter that the environment configures, and the AI SDK's integration.

import { OpenTelemetry } from '@ai-sdk/otel';
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-http';
import { BatchSpanProcessor, NodeTracerProvider } from '@opentelemetry/sdk-trace-node';
import { registerTelemetry } from 'ai';

const provider = new NodeTracerProvider({ spanProcessors: [new BatchSpanProcessor(new OTLPTraceExporter())] });
provider.register();
const enrichSpan = ({ runtimeContext }) => ({ 'gen_ai.conversation.id': runtimeContext?.conversationId });
registerTelemetry(new OpenTelemetry({ enrichSpan }));
process.once('beforeExit', () => provider.shutdown().catch((error) => console.error(`No traces were sent: ${error.message}`)));
