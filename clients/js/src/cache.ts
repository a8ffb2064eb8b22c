/** The prompts that a client remembers, and when each is asked for again. It does no input or output. */

import {
  ApiError,
  ConfigurationError,
  RateLimitedError,
  type RepriseError,
  ServerError,
  UnreachableError,
} from "./errors.js";
import { Prompt } from "./prompts.js";
import { type Fallback, type PromptRecord, recordFor, recordOfFallback, type Snapshot } from "./records.js";

/** Beyond this the entry that was used longest ago goes, so that ids from outside can't fill the memory. */
const ENTRIES_MAX = 1000;
const PAUSE_S = 1;
const PAUSE_MAX_S = 30;
const LABEL = /^[A-Za-z0-9._-]{1,64}$/;
const HASH = /^[0-9a-f]{64}$/;

/** The version of a prompt that is asked for, by default the newest one. */
export interface Choice {
  readonly label?: string | undefined;
  readonly version?: string | undefined;
  readonly draft?: boolean | undefined;
}

/** A prompt and the version of it that is asked for. With `byKey` it is both versions of a label's split. */
export interface Wanted extends Choice {
  readonly id: number;
  readonly byKey: boolean;
}

/** Returns what is wanted, once it is sure that a request can be made of it. */
export function wantedOf(id: number, { label, version, draft = false }: Choice, byKey: boolean): Wanted {
  if (!Number.isSafeInteger(id) || id < 1) throw new ConfigurationError(`${String(id)} is not the id of a prompt.`);
  if ([label !== undefined, version !== undefined, draft].filter(Boolean).length > 1) {
    throw new ConfigurationError("Give a label, a version or draft, and no two of them.");
  }
  if (label !== undefined && (typeof label !== "string" || !LABEL.test(label) || label === "." || label === "..")) {
    throw new ConfigurationError(`label: ${JSON.stringify(label)} is not the name of a label.`);
  }
  if (version !== undefined && !HASH.test(version)) {
    throw new ConfigurationError("version: a version has a commit hash of 64 hexadecimal digits.");
  }
  return { id, label, version, draft, byKey: byKey && label !== undefined };
}

/** Returns a text that only equal choices have. */
export function nameOf({ id, label, version, draft, byKey }: Wanted): string {
  return JSON.stringify([id, label ?? null, version ?? null, draft ?? false, byKey]);
}

function titleOf({ id, label, version, draft }: Wanted): string {
  const which = label ? `label ${label}` : version ? `version ${version.slice(0, 8)}` : draft ? "draft" : "newest";
  return `prompt ${id} (${which})`;
}

/** A request for a prompt; callers wait until it has ended, or until `waitUntil` in monotonic seconds. */
export interface Fetching {
  readonly ended: Promise<void>;
  readonly waitUntil: number;
}

/** One remembered prompt. Times are monotonic seconds. */
export class Entry {
  readonly wanted: Wanted;
  snapshot: Snapshot | null = null;
  problem: RepriseError | null = null;
  /** The request that is on its way, which all who wait share. */
  fetching: Fetching | null = null;
  #confirmedAt = 0;
  #retryAt = 0;
  #failures = 0;
  #fallback: { given: Fallback; record: PromptRecord } | null = null;

  constructor(wanted: Wanted) {
    this.wanted = wanted;
  }

  /** Whether a request for the prompt has ended. */
  get tried(): boolean {
    return this.#retryAt > 0;
  }

  due(now: number): boolean {
    return now >= this.#retryAt;
  }

  /** Stores a snapshot from disk, unless the server has sent one meanwhile. */
  restore(snapshot: Snapshot, ageS: number): void {
    if (this.snapshot !== null) return;
    this.snapshot = snapshot;
    this.#confirmedAt = monotonicS() - ageS;
  }

  /** Stores what the server has sent or confirmed. */
  confirm(snapshot: Snapshot, freshS: number): void {
    this.snapshot = snapshot;
    this.problem = null;
    this.#failures = 0;
    this.#confirmedAt = monotonicS();
    this.#retryAt = this.#confirmedAt + freshS;
  }

  /** Keeps what is known; the next request is sent after a pause. */
  fail(problem: RepriseError, freshS: number): void {
    this.#retryAt = monotonicS() + this.#pauseS(problem, freshS);
    this.#failures += 1;
    this.problem = problem;
  }

  /** Returns what the server gave, else the fall-back; throws the problem, if there is neither. */
  serve(splitKey: string | undefined, fallback: Fallback | undefined, freshS: number): Prompt {
    const record = fallback === undefined ? null : this.#recordOf(fallback);
    if (this.snapshot !== null) return this.#known(recordFor(this.snapshot, this.wanted.label, splitKey), freshS);
    const problem = this.problem ?? new UnreachableError("The server has not answered yet.");
    if (record === null) throw problem;
    return new Prompt(record, "fallback", problem, null);
  }

  #known(record: PromptRecord, freshS: number): Prompt {
    const ageS = Math.max(0, monotonicS() - this.#confirmedAt);
    // A copy from disk is stale however young it is: this process has not heard of it from the server.
    const fresh = this.problem === null && ageS <= freshS && this.tried;
    return new Prompt(record, fresh ? "fresh" : "stale", this.problem, ageS);
  }

  /** Returns the record of a fall-back, which is checked with every call and read once. */
  #recordOf(given: Fallback): PromptRecord {
    if (this.#fallback?.given !== given) this.#fallback = { given, record: recordOfFallback(given, this.wanted.id) };
    return this.#fallback.record;
  }

  /**
   * Returns the seconds until the next request: few after one failure, up to `PAUSE_MAX_S` after many.
   *
   * An answer that asking again does not change, such as 404, is asked for as often as a fresh prompt; without a copy
   * to serve, after a second: whoever waits may have mended the cause.
   */
  #pauseS(problem: RepriseError, freshS: number): number {
    const passing =
      !(problem instanceof ApiError) || problem instanceof RateLimitedError || problem instanceof ServerError;
    if (!passing) return this.snapshot ? freshS : PAUSE_S;
    // Not all processes that lost the server at once come back at once.
    const growing = Math.min(PAUSE_S * 2 ** Math.min(this.#failures, 10), PAUSE_MAX_S) * (0.5 + Math.random() / 2);
    return Math.max(growing, (problem instanceof ApiError && problem.retryAfterS) || 0);
  }
}

/** The entries of a client. */
export class PromptCache {
  readonly #freshS: number;
  readonly #warn: (message: string) => void;
  readonly #entries = new Map<string, Entry>();
  /** When a rate limit of the API key ends. */
  #quietUntil = 0;

  constructor(freshS: number, warn: (message: string) => void) {
    this.#freshS = freshS;
    this.#warn = warn;
  }

  /** Returns the entry of what is wanted, as the one that was used last. */
  entry(wanted: Wanted): Entry {
    const name = nameOf(wanted);
    const entry = this.#entries.get(name) ?? new Entry(wanted);
    this.#entries.delete(name);
    this.#entries.set(name, entry);
    const [oldest] = this.#entries.keys();
    if (this.#entries.size > ENTRIES_MAX && oldest !== undefined) this.#entries.delete(oldest);
    return entry;
  }

  /** Returns whether the entry is to be asked for now; the rate limit holds back what can be served without. */
  due(entry: Entry): boolean {
    const now = monotonicS();
    return entry.due(now) && (entry.snapshot === null || now >= this.#quietUntil);
  }

  fetched(entry: Entry, snapshot: Snapshot): void {
    entry.confirm(snapshot, this.#freshS);
  }

  /** Notes a failure and logs it once, until it changes. */
  failed(entry: Entry, problem: RepriseError): void {
    if (String(problem) !== String(entry.problem)) this.#warn(`${titleOf(entry.wanted)}: ${String(problem)}`);
    if (problem instanceof RateLimitedError) {
      this.#quietUntil = Math.max(this.#quietUntil, monotonicS() + (problem.retryAfterS ?? 0));
    }
    entry.fail(problem, this.#freshS);
  }

  serve(entry: Entry, splitKey: string | undefined, fallback: Fallback | undefined): Prompt {
    return entry.serve(splitKey, fallback, this.#freshS);
  }
}

export function monotonicS(): number {
  return performance.now() / 1000;
}
