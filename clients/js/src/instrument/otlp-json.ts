/** Encodes spans of the OpenTelemetry SDK as OTLP JSON, structurally typed: the SDKs 1 and 2 both fit. */

import type { Attributes, HrTime, Link, SpanContext, SpanKind, SpanStatus } from "@opentelemetry/api";

/** Characters of JSON beyond which spans go into another batch; a larger span is a batch by itself. */
export const BATCH_LENGTH = 1024 * 1024;
/** Levels of lists and maps that are kept of an attribute, so that the work on a value is bounded. */
export const MAX_DEPTH = 32;

export interface FinishedSpan {
  readonly name: string;
  readonly kind: SpanKind;
  readonly spanContext: () => SpanContext;
  readonly parentSpanContext?: SpanContext;
  /** The SDK 1 has this in place of the parent's context. */
  readonly parentSpanId?: string;
  readonly startTime: HrTime;
  readonly endTime: HrTime;
  readonly status: SpanStatus;
  readonly attributes: Attributes;
  readonly links: readonly Link[];
  readonly events: readonly { readonly time: HrTime; readonly name: string; readonly attributes?: Attributes }[];
  readonly resource: { readonly attributes: object };
  readonly instrumentationScope?: Scope;
  /** The SDK 1 calls the scope so. */
  readonly instrumentationLibrary?: Scope;
  readonly droppedAttributesCount: number;
}

interface Scope {
  readonly name: string;
  readonly version?: string;
}

/** An export request and the number of its spans. */
export interface Batch {
  readonly body: string;
  readonly spans: number;
}

/**
 * Yields export requests of at most `limit` characters that have all spans in their order. A span that can't be encoded
 * is left out, and `onBroken` gets the error.
 */
export function* batches(
  spans: Iterable<FinishedSpan>,
  onBroken: (error: unknown) => void,
  limit = BATCH_LENGTH,
): Generator<Batch> {
  let batch: Encoded[] = [];
  let length = 0;
  for (const span of spans) {
    const encoded = encode(span, onBroken);
    if (encoded === null) continue;
    if (batch.length > 0 && length + encoded.json.length > limit) {
      yield exportOf(batch);
      batch = [];
      length = 0;
    }
    batch.push(encoded);
    length += encoded.json.length;
  }
  if (batch.length > 0) yield exportOf(batch);
}

interface Encoded {
  readonly span: FinishedSpan;
  readonly json: string;
}

function encode(span: FinishedSpan, onBroken: (error: unknown) => void): Encoded | null {
  try {
    return { span, json: JSON.stringify(spanOf(span)) };
  } catch (error) {
    onBroken(error);
    return null;
  }
}

function exportOf(batch: readonly Encoded[]): Batch {
  const resources = new Map<object, Map<Scope | undefined, Encoded[]>>();
  for (const encoded of batch) {
    const scopes = entry(resources, encoded.span.resource, () => new Map<Scope | undefined, Encoded[]>());
    entry(scopes, scopeOf(encoded.span), () => []).push(encoded);
  }
  const groups = [...resources.values()].flatMap((scopes) => [...scopes.values()]);
  return { body: `{"resourceSpans":[${groups.map(resourceSpans).join(",")}]}`, spans: batch.length };
}

function entry<Key, Value>(map: Map<Key, Value>, key: Key, make: () => Value): Value {
  const found = map.get(key) ?? make();
  map.set(key, found);
  return found;
}

/** Joins spans of one resource and one scope; each is encoded already. */
function resourceSpans(group: readonly Encoded[]): string {
  const { span } = group[0]!;
  const resource = JSON.stringify({ attributes: pairs(span.resource.attributes, 0) });
  const { name = "", version = "" } = scopeOf(span) ?? {};
  const spans = group.map(({ json }) => json).join(",");
  return `{"resource":${resource},"scopeSpans":[{"scope":${JSON.stringify({ name, version })},"spans":[${spans}]}]}`;
}

function scopeOf(span: FinishedSpan): Scope | undefined {
  return span.instrumentationScope ?? span.instrumentationLibrary;
}

function spanOf(span: FinishedSpan): object {
  return {
    ...ids(span.spanContext()),
    parentSpanId: span.parentSpanContext?.spanId ?? span.parentSpanId,
    name: span.name,
    kind: span.kind + 1,
    startTimeUnixNano: nanoseconds(span.startTime),
    endTimeUnixNano: nanoseconds(span.endTime),
    attributes: pairs(span.attributes, 0),
    droppedAttributesCount: span.droppedAttributesCount,
    events: span.events.map(({ name, time, attributes }) => {
      return { name, timeUnixNano: nanoseconds(time), attributes: pairs(attributes, 0) };
    }),
    links: span.links.map(({ context, attributes }) => ({ ...ids(context), attributes: pairs(attributes, 0) })),
    status: { code: span.status.code, message: span.status.message ?? "" },
  };
}

function ids({ traceId, spanId, traceState, traceFlags }: SpanContext): object {
  return { traceId, spanId, traceState: traceState?.serialize() ?? "", flags: traceFlags };
}

/** Returns Unix nanoseconds; 0, which is no time in OTLP, for the time of an invalid date, which the SDK keeps as NaN. */
function nanoseconds([seconds, nanos]: HrTime): string {
  const whole = Math.floor(seconds);
  const rest = Math.round((seconds - whole) * 1e9 + nanos);
  return Number.isFinite(rest) ? String(BigInt(whole) * 1_000_000_000n + BigInt(rest)) : "0";
}

function pairs(attributes: object | undefined, depth: number): object[] {
  return Object.entries(attributes ?? {}).map(([key, value]) => ({ key, value: valueOf(value, depth) }));
}

function valueOf(value: unknown, depth: number): object {
  if (typeof value === "string") return { stringValue: value };
  if (typeof value === "boolean") return { boolValue: value };
  if (typeof value === "number") return numberOf(value);
  if (value === null || value === undefined) return {};
  if (typeof value !== "object" || depth >= MAX_DEPTH) return { stringValue: `<${typeof value}>` };
  if (value instanceof Uint8Array) return { bytesValue: Buffer.from(value).toString("base64") };
  if (Array.isArray(value)) return { arrayValue: { values: value.map((item) => valueOf(item, depth + 1)) } };
  return { kvlistValue: { values: pairs(value, depth + 1) } };
}

function numberOf(value: number): object {
  if (Number.isSafeInteger(value)) return { intValue: String(value) };
  return { doubleValue: Number.isFinite(value) ? value : String(value) };
}
