/** What is known of the turn in work: the attributes of its spans, and whether it has recorded model calls. */

import { type Attributes, type Context, context, createContextKey, type HrTime } from "@opentelemetry/api";

// A key of the context, not baggage, which would go out with the requests to the model's vendor.
const ATTRIBUTES = createContextKey("reprise.attributes");
const MODEL_CALLS: unknown[] = ["chat", "generate_content", "text_completion"];
const OTHERS: unknown[] = ["execute_tool", "invoke_agent", "create_agent", "embeddings"];
const MODEL_KEYS = ["gen_ai.request.model", "llm.request.type", "llm.model_name"];

/** The turns that are open and have no model call yet: the end of the latest span of each, by the id of its trace. */
const silentTurns = new Map<string, HrTime>();

export function openTurn(traceId: string): void {
  silentTurns.set(traceId, [0, 0]);
}

/** Returns when the latest span of the turn ended, or null where an instrumentation has recorded model calls. */
export function closeTurn(traceId: string): HrTime | null {
  const end = silentTurns.get(traceId) ?? null;
  silentTurns.delete(traceId);
  return end;
}

/** Notes a span of a turn that has ended. An end that is no time, as an invalid date gives, is not the latest. */
export function noteSpan(traceId: string, attributes: Attributes, end: HrTime): void {
  const latest = silentTurns.get(traceId);
  if (latest === undefined) return;
  if (isModelCall(attributes)) silentTurns.delete(traceId);
  else silentTurns.set(traceId, Number.isFinite(end[0] + end[1]) ? laterOf(latest, end) : latest);
}

export function laterOf(one: HrTime, other: HrTime): HrTime {
  return one[0] > other[0] || (one[0] === other[0] && one[1] > other[1]) ? one : other;
}

export function attributesWithin(within: Context): Attributes {
  return (within.getValue(ATTRIBUTES) as Attributes | undefined) ?? {};
}

/** Runs `work`, with these attributes on all spans that start within. */
export function withAttributes<Result>(attributes: Attributes, work: () => Result): Result {
  const active = context.active();
  const known = Object.entries(attributes).filter(([, value]) => value !== undefined);
  const merged = { ...attributesWithin(active), ...Object.fromEntries(known) };
  return context.with(active.setValue(ATTRIBUTES, merged), work);
}

/** Returns whether a span of these attributes is a model call, by whichever convention. */
function isModelCall(attributes: Attributes): boolean {
  const operation = attributes["gen_ai.operation.name"];
  if (MODEL_CALLS.includes(operation) || attributes["openinference.span.kind"] === "LLM") return true;
  return !OTHERS.includes(operation) && MODEL_KEYS.some((key) => key in attributes);
}
