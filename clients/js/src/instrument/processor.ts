/** A span processor that sets what is known of the turn on every span, and hands spans to the delivery in batches. */

import { gzipSync } from "node:zlib";

import type { Attributes, Context, Span } from "@opentelemetry/api";

import type { Delivery } from "./delivery.js";
import { type Batch, batches, type FinishedSpan } from "./otlp-json.js";
import { attributesWithin, noteSpan } from "./scope.js";
import type { Spool } from "./spool.js";
import { Warnings } from "./warnings.js";

export const FLUSH_MS = 5000;
/** How long spans stay only in memory; `OTEL_BSP_SCHEDULE_DELAY` counts where it is set. */
const SCHEDULE_DELAY_MS = 1000;
const BATCH_SPANS = 128;
const QUEUE_MAX = 8192;

/** Sends the spans of a provider to a prompt of Reprise. Give it to a provider as one of its span processors. */
export class RepriseSpanProcessor {
  readonly #delivery: Delivery;
  readonly #spool: Spool;
  readonly #defaults: Attributes;
  readonly #delayMs = Number(process.env["OTEL_BSP_SCHEDULE_DELAY"]) || SCHEDULE_DELAY_MS;
  readonly #writing = new Set<Batch>();
  readonly #warnings = new Warnings();
  #queue: FinishedSpan[] = [];
  #timer: NodeJS.Timeout | undefined;
  #written: Promise<unknown> = Promise.resolve();
  #isSettled = false;
  readonly #onBeforeExit = (): void => void this.#settle();
  readonly #onExit = (): void => this.#keepAll();

  /** `defaults` are attributes of spans without a value for them. */
  constructor(delivery: Delivery, spool: Spool, defaults: Attributes) {
    this.#delivery = delivery;
    this.#spool = spool;
    this.#defaults = defaults;
    process.on("beforeExit", this.#onBeforeExit);
    process.on("exit", this.#onExit);
  }

  onStart(span: Span, parentContext: Context): void {
    const own = (span as Partial<FinishedSpan>).attributes ?? {};
    const missing = Object.entries(this.#defaults).filter(([key]) => !(key in own));
    span.setAttributes({ ...Object.fromEntries(missing), ...attributesWithin(parentContext) });
  }

  onEnd(span: FinishedSpan): void {
    const { traceId, traceFlags } = span.spanContext();
    noteSpan(traceId, span.attributes, span.endTime);
    if ((traceFlags & 1) === 0) return;
    if (this.#queue.length >= QUEUE_MAX) {
      this.#warnings.once("Spans are dropped, as they end faster than they can be written");
      return;
    }
    this.#queue.push(span);
    this.#isSettled = false;
    const delay = this.#queue.length >= BATCH_SPANS ? 0 : this.#delayMs;
    if (this.#timer === undefined || this.#queue.length === BATCH_SPANS) {
      clearTimeout(this.#timer);
      this.#timer = setTimeout(() => void this.#write(), delay).unref();
    }
  }

  /** Resolves when all spans that have ended are stored, or after five seconds. */
  async forceFlush(): Promise<void> {
    await this.flush();
  }

  /** Returns whether all spans that have ended were stored in time; what is not stays on disk. */
  async flush(timeoutMs = FLUSH_MS): Promise<boolean> {
    await this.#write();
    return this.#delivery.flush(timeoutMs);
  }

  async shutdown(): Promise<void> {
    process.off("beforeExit", this.#onBeforeExit);
    await this.#write();
    await this.#delivery.shutdown(FLUSH_MS);
    process.off("exit", this.#onExit);
  }

  /** Writes what is in memory to disk, a batch at a time, so that the application has its turn between two. */
  #write(): Promise<unknown> {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#written = this.#written.then(async () => {
      while (this.#queue.length > 0) await this.#put(this.#queue.splice(0, BATCH_SPANS));
    });
    return this.#written;
  }

  /** Puts these spans on disk. Does not reject, so that later spans are written whatever these have. */
  async #put(spans: readonly FinishedSpan[]): Promise<void> {
    try {
      for (const batch of this.#batches(spans)) {
        this.#writing.add(batch);
        await this.#delivery.put(batch).finally(() => this.#writing.delete(batch));
      }
    } catch (error) {
      this.#warnings.once(`Spans can't be written and are dropped: ${String(error)}`);
    }
  }

  #batches(spans: readonly FinishedSpan[]): Iterable<Batch> {
    return batches(spans, (error) => {
      this.#warnings.once(`Spans that can't be encoded are dropped: ${String(error)}`);
    });
  }

  /** Sends what is there when the process has nothing else to do. Without new spans it does so once. */
  async #settle(): Promise<void> {
    if (this.#isSettled) return;
    this.#isSettled = true;
    await this.#write();
    await this.#delivery.settle(FLUSH_MS);
  }

  /** Keeps what is in memory when the process ends at once. What was in the midst of being written is written twice. */
  #keepAll(): void {
    try {
      for (const batch of [...this.#writing, ...this.#batches(this.#queue.splice(0))]) {
        this.#spool.putSync(gzipSync(batch.body), batch.spans);
      }
    } catch (error) {
      this.#warnings.once(`Spans were lost at the end of the process: ${String(error)}`);
    }
    this.#delivery.releaseSync();
  }
}
