// Sends a Node process's spans to Reprise, each with its prompt and conversation. Copy it next to your program.

import { context, createContextKey, trace } from '@opentelemetry/api';
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-http';
import { BatchSpanProcessor, NodeTracerProvider } from '@opentelemetry/sdk-trace-node';

const { BASE_URL, API_KEY, PROMPT_ID } = process.env;
const authorization = { Authorization: `Bearer ${API_KEY}` };
// A context key, not baggage: baggage would go out with the HTTP requests to the model's vendor.
const ATTRIBUTES = createContextKey('reprise.attributes');

/** Sets the attributes of the turn on every span that starts within it, whoever starts it. */
export class PromptAttributes {
  onStart(span, parentContext) {
    span.setAttributes(parentContext.getValue(ATTRIBUTES) ?? {});
  }
  onEnd() {}
  async forceFlush() {}
  async shutdown() {}
}

/** For setups that make their own provider: both, in this order. */
export function spanProcessors() {
  const exporter = new OTLPTraceExporter({ url: `${BASE_URL}/api/public/otel/v1/traces`, headers: authorization });
  return [new PromptAttributes(), new BatchSpanProcessor(exporter)];
}

/** Make Reprise the destination of all spans; `await provider.shutdown()` sends the last ones. */
export function connect() {
  const provider = new NodeTracerProvider({
    // At its limit (128 unless set) the SDK drops attributes.
    spanLimits: { attributeCountLimit: 2000 },
    spanProcessors: spanProcessors(),
  });
  provider.register();
  return provider;
}

/** The prompt as its model receives it: instruction, commitHash, languageModelConfig, placeholders. */
export async function render(placeholders = {}) {
  const response = await fetch(`${BASE_URL}/api/v1/prompts/${PROMPT_ID}/render`, {
    method: 'POST',
    headers: { ...authorization, 'Content-Type': 'application/json' },
    body: JSON.stringify({ placeholders }),
  });
  if (!response.ok) throw new Error(`render: ${response.status} ${await response.text()}`);
  return response.json();
}

/** One turn: a span that is the parent of all others, so that they are one trace. */
export function turn(prompt, conversationId, work) {
  const attributes = {
    'service.prompt.id': Number(PROMPT_ID),
    'service.prompt.placeholders': JSON.stringify(prompt.placeholders.resolved),
    'gen_ai.conversation.id': conversationId,
    ...(prompt.commitHash && { 'service.prompt.version': prompt.commitHash }),
  };
  const within = context.active().setValue(ATTRIBUTES, attributes);
  return trace.getTracer('reprise').startActiveSpan('turn', {}, within, async (span) => {
    try {
      return await work();
    } finally {
      span.end();
    }
  });
}
