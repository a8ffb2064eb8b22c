/**
 * Delivers batches: from disk, in order, again and again while Reprise is away.
 *
 * A batch is on disk before it is sent and is removed after Reprise has answered that it is stored. A process that dies
 * between the two sends it again, and Reprise stores each span once.
 */

import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { promisify } from "node:util";
import { gzip } from "node:zlib";

import { context, ROOT_CONTEXT } from "@opentelemetry/api";

import type { Endpoint, Outcome } from "./endpoint.js";
import { FileLock } from "./file-lock.js";
import type { Batch } from "./otlp-json.js";
import { type Spool, spansOf } from "./spool.js";
import { warn, Warnings } from "./warnings.js";

/** How long it waits between attempts, in milliseconds. */
export interface Pace {
  readonly firstRetryMs: number;
  readonly lastRetryMs: number;
  /** How often it looks for what other processes left. */
  readonly idleMs: number;
  /** How often it looks whether another process has sent what is there. */
  readonly busyMs: number;
}

export const PACE: Pace = { firstRetryMs: 1000, lastRetryMs: 60_000, idleMs: 60_000, busyMs: 1000 };
const LONGEST_RETRY_AFTER_MS = 600_000;
/** Answers with an error of the server after which one batch is given up, so that it does not hold up the others. */
export const STRIKES = 5;
/** Batches that are kept where there is no disk to write to. */
const IN_MEMORY = 64;
/** How long one pass sends. Requests keep a process alive, which has to be able to end however much is left. */
const PASS_MS = 1000;
// By this key the instrumentations of HTTP know that a request is not the application's.
const SUPPRESSED = ROOT_CONTEXT.setValue(Symbol.for("OpenTelemetry SDK Context Key SUPPRESS_TRACING"), true);

const compress = promisify(gzip);

type Away = Extract<Outcome, { kind: "away" }>;
type Waiting = { readonly body: Uint8Array<ArrayBuffer>; readonly spans: number };

/** Keeps batches, and sends them while Reprise is reachable. No method rejects. */
export class Delivery {
  readonly #spool: Spool;
  readonly #endpoint: Endpoint;
  readonly #pace: Pace;
  readonly #lock: FileLock;
  readonly #memory: Waiting[] = [];
  readonly #warnings = new Warnings();
  #stop = new AbortController();
  #stopped = false;
  #isResting = false;
  #pass: Promise<void> | null = null;
  #again = false;
  #timer: NodeJS.Timeout | undefined;
  #away: Away | null = null;
  #failures = 0;
  #strikes = 0;
  #orderedUntil = 0;

  constructor(spool: Spool, endpoint: Endpoint, pace: Pace = PACE) {
    this.#spool = spool;
    this.#endpoint = endpoint;
    this.#pace = pace;
    this.#lock = new FileLock(join(spool.folder, "lock"));
  }

  /** Keeps a batch on disk, and has it sent. */
  async put(batch: Batch): Promise<void> {
    const body = await compress(batch.body);
    let lost = 0;
    try {
      lost = await this.#spool.put(body, batch.spans);
    } catch (error) {
      this.#warnings.once(`Spans are kept in memory, as ${this.#spool.folder} can't be written: ${String(error)}`);
      this.#memory.push({ body, spans: batch.spans });
      if (this.#memory.length > IN_MEMORY) lost = this.#memory.shift()!.spans;
    }
    if (lost > 0) warn(`${lost} spans that Reprise had not taken were dropped, the oldest, to keep to the limits`);
    this.#wake();
    if (this.#away === null) this.start();
  }

  /** Sends what is there, in the background. */
  start(): void {
    if (this.#stopped) return;
    // A pass in work may have looked before the last batch was there.
    this.#again = this.#pass !== null;
    void this.#attempt();
  }

  /** Returns whether all was sent in time. Where Reprise is away it returns without waiting for it. */
  async flush(timeoutMs: number): Promise<boolean> {
    const deadline = Date.now() + timeoutMs;
    this.#wake();
    for (;;) {
      const pass = this.#pass === null ? this.#attempt() : this.#pass.then(() => this.#attempt());
      await Promise.race([pass, sleep(Math.max(deadline - Date.now(), 0), undefined, { ref: false })]);
      if (this.#memory.length === 0 && (await this.#spool.names()).length === 0) return true;
      if (this.#away !== null || Date.now() >= deadline) return false;
      await sleep(20);
    }
  }

  /** Flushes, and sends nothing until there is more, so that nothing keeps the process alive. */
  async settle(timeoutMs: number): Promise<boolean> {
    const sent = await this.flush(timeoutMs);
    this.#isResting = true;
    this.#stop.abort();
    await this.#pass;
    return sent;
  }

  #wake(): void {
    if (!this.#isResting) return;
    this.#isResting = false;
    this.#stop = new AbortController();
  }

  async shutdown(timeoutMs: number): Promise<void> {
    if (this.#stopped) return;
    await this.settle(timeoutMs);
    this.#stopped = true;
    clearTimeout(this.#timer);
  }

  /** Leaves the folder to others when the process ends. */
  releaseSync(): void {
    this.#lock.releaseSync();
  }

  /** Makes one pass at a time. */
  #attempt(): Promise<void> {
    if (this.#isResting) return Promise.resolve();
    this.#pass ??= context
      .with(SUPPRESSED, () => this.#sendAll())
      .catch((error: unknown) => {
        this.#warnings.once(`Spans could not be sent: ${String(error)}`);
        return this.#pace.lastRetryMs;
      })
      .then((waitMs) => {
        this.#pass = null;
        clearTimeout(this.#timer);
        this.#timer = setTimeout(() => this.start(), this.#again && this.#away === null ? 0 : waitMs).unref();
        this.#again = false;
      });
    return this.#pass;
  }

  /** Sends what is there, the oldest first; returns the milliseconds after which to look again. */
  async #sendAll(): Promise<number> {
    if (Date.now() < this.#orderedUntil) return this.#orderedUntil - Date.now();
    if ((await this.#spool.names()).length > 0) {
      if (!(await this.#lock.acquire())) return this.#pace.busyMs;
      try {
        const waitMs = await this.#sendBatches();
        if (waitMs !== null) return waitMs;
      } finally {
        await this.#lock.release();
      }
    }
    return (await this.#sendMemory()) ?? this.#rest();
  }

  #rest(): number {
    this.#away = null;
    this.#failures = 0;
    return this.#pace.idleMs;
  }

  /** Returns the milliseconds to wait where a batch can't be sent now, 0 where only the time of this pass is over. */
  async #sendBatches(): Promise<number | null> {
    const until = Date.now() + PASS_MS;
    for (const name of await this.#spool.names()) {
      if (Date.now() >= until) return 0;
      const body = await this.#spool.read(name);
      const waitMs = body && (await this.#send({ body, spans: spansOf(name) }));
      if (waitMs !== null) return waitMs;
      await this.#spool.remove(name);
      await this.#lock.touch();
    }
    return null;
  }

  async #sendMemory(): Promise<number | null> {
    for (let first = this.#memory[0]; first !== undefined; first = this.#memory[0]) {
      const waitMs = await this.#send(first);
      if (waitMs !== null) return waitMs;
      if (this.#memory[0] === first) this.#memory.shift();
    }
    return null;
  }

  /** Returns null when a batch is done with, because it was stored or because it never will be. */
  async #send({ body, spans }: Waiting): Promise<number | null> {
    const outcome = this.#givenUp(await this.#endpoint.send(body, this.#stop.signal));
    if (outcome.kind === "away") return this.#backOff(outcome);
    if (outcome.kind === "refused") {
      this.#warnings.once(`Reprise refused ${spans} spans, which are dropped: ${outcome.message}`);
    } else if (outcome.rejected > 0) {
      this.#warnings.once(`Reprise rejected ${outcome.rejected} of ${spans} spans: ${outcome.message}`);
    }
    this.#away = null;
    this.#failures = this.#strikes = 0;
    return null;
  }

  /** Returns that a batch is refused when the server fails at it again and again. */
  #givenUp(outcome: Outcome): Outcome {
    if (outcome.kind !== "away" || !outcome.broken) return outcome;
    this.#strikes += 1;
    return this.#strikes >= STRIKES ? { kind: "refused", message: outcome.message } : outcome;
  }

  #backOff(away: Away): number {
    if (this.#away === null && !this.#stop.signal.aborted) {
      warn(`Reprise accepts no spans now (${away.message}); they are kept and sent later`);
    }
    this.#away = away;
    this.#failures = Math.min(this.#failures + 1, 10);
    const { firstRetryMs, lastRetryMs } = this.#pace;
    if (away.retryAfterMs === null) {
      return Math.min(firstRetryMs * 2 ** (this.#failures - 1), lastRetryMs) * (0.5 + Math.random() / 2);
    }
    const waitMs = Math.min(Math.max(away.retryAfterMs, firstRetryMs), LONGEST_RETRY_AFTER_MS);
    this.#orderedUntil = Date.now() + waitMs;
    return waitMs;
  }
}
