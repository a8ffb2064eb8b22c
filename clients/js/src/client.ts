/** The client of one project. */

import { once } from "node:events";
import { setImmediate as served, setTimeout as sleep } from "node:timers/promises";

import { type Choice, type Entry, type Fetching, monotonicS, PromptCache, wantedOf } from "./cache.js";
import { Connection } from "./connection.js";
import { DiskCache } from "./disk.js";
import { ConfigurationError, RepriseError, ServerError, UnreachableError } from "./errors.js";
import type { Prompt } from "./prompts.js";
import { read } from "./reading.js";
import { type Fallback, foreign } from "./records.js";
import {
  eventsRequest,
  Follower,
  lateRun,
  type Piece,
  Retries,
  resultOf,
  type RunOptions,
  type RunRequest,
  type RunResult,
  runRequest,
  startedRun,
  type WaitOptions,
} from "./runs.js";
import { type ScoreOptions, type ScoreValue, scoreRequest, storedId } from "./scores.js";
import { Deadline, type Fetch, type Reply, Transport } from "./transport.js";

/** Of prompts that can be served meanwhile; a further one is fetched when it is asked for again. */
const BACKGROUND_MAX = 8;
/** The server sends a comment every 10 s of silence. */
const SILENCE_MAX_S = 30;

type Events = AsyncGenerator<Piece | RunResult, void, void>;

/** Receives the client's warnings. */
export interface Logger {
  warn(message: string): void;
}

export interface RepriseOptions {
  /** The base URL of the instance; `REPRISE_URL` of the environment by default. */
  readonly baseUrl?: string | undefined;
  /** An API key of the prompts' project; `REPRISE_API_KEY` of the environment by default. */
  readonly apiKey?: string | undefined;
  /** How long a prompt is fresh, 60 by default. */
  readonly freshS?: number | undefined;
  /** How long the first request for a prompt is waited for, 2 by default. */
  readonly firstWaitS?: number | undefined;
  /** When a request for a prompt ends, 10 by default. */
  readonly timeoutS?: number | undefined;
  /** A folder that keeps copies of prompts. */
  readonly cacheDir?: string | undefined;
  /** What sends requests, `fetch` of the process by default. */
  readonly fetch?: Fetch | undefined;
  /** `console` by default. */
  readonly logger?: Logger | undefined;
}

/** Which version of a prompt is asked for, and what is served in its place. */
export interface PromptOptions extends Choice {
  /** Decides at a split of the label, such as the id of a user. */
  readonly splitKey?: string | undefined;
  /**
   * A text, which is used unchanged, or the JSON of a prompt. It is served, after memory and disk, while the server has
   * given nothing; without it the error is thrown.
   */
  readonly fallback?: Fallback | undefined;
  /** Ends the wait for the first request with the reason of the signal. */
  readonly signal?: AbortSignal | undefined;
}

/** A client of one project; make one and keep it. */
export class Reprise {
  readonly #firstWaitS: number;
  readonly #timeoutS: number;
  readonly #cache: PromptCache;
  readonly #disk: DiskCache | null;
  readonly #transport: Transport;
  readonly #closed = new AbortController();
  #fetches = 0;

  constructor(options: RepriseOptions = {}) {
    const { freshS = 60, firstWaitS = 2, timeoutS = 10, cacheDir, logger = console } = options;
    for (const [name, seconds] of Object.entries({ freshS, firstWaitS, timeoutS })) {
      if (!(seconds >= 0)) throw new ConfigurationError(`${name}: ${seconds} is no number of seconds.`);
    }
    const connection = Connection.of(options.baseUrl, options.apiKey);
    const warn = (message: string) => log(logger, message);
    this.#firstWaitS = firstWaitS;
    this.#timeoutS = timeoutS;
    this.#cache = new PromptCache(freshS, warn);
    this.#disk = cacheDir === undefined ? null : new DiskCache(cacheDir, connection, warn);
    this.#transport = new Transport(connection, options.fetch ?? fetch);
  }

  /**
   * Returns a version of a prompt, by default the newest one, from memory; its `state` is how current it is.
   *
   * Only the first request for it is waited for; later ones are sent in the background.
   */
  async prompt(id: number, options: PromptOptions = {}): Promise<Prompt> {
    const { splitKey, fallback, signal } = options;
    signal?.throwIfAborted();
    const entry = this.#cache.entry(wantedOf(id, options, Boolean(splitKey)));
    const fetching = this.#cache.due(entry) ? this.#fetching(entry) : null;
    if (fetching && entry.snapshot === null && (fallback === undefined || !entry.tried)) {
      await this.#waitFor(fetching, signal);
    }
    return this.#cache.serve(entry, splitKey, fallback);
  }

  /** Runs a prompt and returns its answer. A request that fails in passing is repeated; it makes one run. */
  async run(id: number, question: string, options: RunOptions = {}): Promise<RunResult> {
    const request = runRequest(id, question, options);
    try {
      const reply = await this.#answered(request);
      return resultOf(reply.body, reply.runId, reply.url);
    } catch (problem) {
      if (!(problem instanceof ServerError) || problem.status !== 504 || problem.runId === null) throw problem;
      // The server ended the wait, or the model did not answer in time: the events of the run show which.
      const timeoutS = request.deadline - monotonicS();
      return this.runResult(problem.runId, { timeoutS, signal: options.signal });
    }
  }

  /** Runs a prompt; yields the pieces of the answer as the model writes them, and the `RunResult` at the end. */
  stream(id: number, question: string, options: RunOptions = {}): Events {
    return this.#follow(runRequest(id, question, options));
  }

  /** Begins a run, and returns its id for `runResult`. */
  async startRun(id: number, question: string, options: RunOptions = {}): Promise<number> {
    const request = runRequest(id, question, options);
    return startedRun(await this.#answered({ ...request, headers: { ...request.headers, Prefer: "respond-async" } }));
  }

  /**
   * Waits for the end of a run, and returns its answer; throws the error that it ended with.
   *
   * `RunTimeoutError` after `timeoutS`.
   */
  async runResult(runId: number, options: WaitOptions = {}): Promise<RunResult> {
    for await (const found of this.#follow(eventsRequest(runId, options))) {
      if (found.kind === "result") return found;
    }
    throw new UnreachableError(`The stream of run ${runId} ended without a result.`);
  }

  /**
   * Scores a session, turn, step or run; returns the id of the score once it is stored.
   *
   * A request that fails in passing is repeated; it stores one score.
   */
  async score(name: string, value: ScoreValue, options: ScoreOptions): Promise<string> {
    const late = () => new UnreachableError("The score was not stored within the caller's time.");
    return storedId(await this.#answered(scoreRequest(name, value, options), late));
  }

  /** Ends the requests that are under way. Prompts are still served from memory. */
  close(): void {
    this.#closed.abort(new UnreachableError("The client is closed."));
  }

  /** Returns the request for the prompt, which is begun unless one is under way; null where none can begin. */
  #fetching(entry: Entry): Fetching | null {
    if (entry.fetching === null && (entry.snapshot === null || this.#fetches < BACKGROUND_MAX)) {
      entry.fetching = { ended: this.#fetchEntry(entry), waitUntil: monotonicS() + this.#firstWaitS };
    }
    return entry.fetching;
  }

  /** Returns when the request has ended, or is not to be waited for any more. */
  async #waitFor({ ended, waitUntil }: Fetching, signal: AbortSignal | undefined): Promise<void> {
    const deadline = new Deadline(waitUntil - monotonicS(), [signal]);
    try {
      await Promise.race([ended, once(deadline.signal, "abort")]);
    } finally {
      deadline.release();
    }
    signal?.throwIfAborted();
  }

  /** Fetches a prompt; never throws: whatever happens, callers are served, and another try follows. */
  async #fetchEntry(entry: Entry): Promise<void> {
    this.#fetches += 1;
    try {
      await served(); // callers first: a request needs longer to begin than a prompt to be served
      await this.#readEntry(entry);
    } catch (problem) {
      this.#cache.failed(entry, problem instanceof RepriseError ? problem : new UnreachableError(String(problem)));
    } finally {
      this.#fetches -= 1;
      entry.fetching = null;
    }
  }

  async #readEntry(entry: Entry): Promise<void> {
    const copy = entry.snapshot === null ? await this.#disk?.load(entry.wanted) : null;
    if (copy) entry.restore(copy.snapshot, copy.ageS);
    const known = entry.snapshot;
    const deadline = new Deadline(this.#timeoutS, [this.#closed.signal]);
    try {
      const snapshot = await read(entry.wanted, known, (request) => this.#transport.send(request, deadline));
      this.#cache.fetched(entry, snapshot);
      if (snapshot !== known) await this.#disk?.save(entry.wanted, snapshot);
    } finally {
      deadline.release();
    }
  }

  /** Returns the answer to a request, which is repeated where that helps. */
  async #answered(request: RunRequest, late: () => Error = () => lateRun(null)): Promise<Reply> {
    const [retries, deadline] = [new Retries(request), this.#deadline(request, late)];
    try {
      for (;;) {
        try {
          return (await this.#transport.send(request, deadline)).checked();
        } catch (problem) {
          await pause(retries.pauseS(problem), deadline.signal);
        }
      }
    } finally {
      deadline.release();
    }
  }

  async *#follow(request: RunRequest): Events {
    const [follower, retries] = [new Follower(request), new Retries(request)];
    const deadline = this.#deadline(request, () => follower.late());
    try {
      for (;;) {
        try {
          return yield* this.#connected(follower, retries, deadline.signal);
        } catch (problem) {
          await pause(retries.pauseS(problem), deadline.signal);
        }
      }
    } finally {
      deadline.release();
    }
  }

  /** Yields what comes over one connection, up to the result. */
  async *#connected(follower: Follower, retries: Retries, signal: AbortSignal): Events {
    const deadline = new Deadline(SILENCE_MAX_S, [signal]);
    try {
      const response = await this.#transport.open(follower.request, deadline);
      if (response.status !== 200) throw foreign((await this.#transport.whole(response, deadline)).checked().url);
      follower.connected(response);
      for await (const piece of this.#transport.pieces(response, deadline)) {
        deadline.refresh();
        for (const found of follower.feed(piece)) {
          yield found;
          if (found.kind === "result") return;
        }
        retries.progressed();
      }
      throw new UnreachableError("The stream of the run broke off.");
    } finally {
      deadline.release();
    }
  }

  #deadline(request: RunRequest, late: () => Error): Deadline {
    return new Deadline(request.deadline - monotonicS(), [this.#closed.signal, request.signal], late);
  }
}

/** Warns; a logger that throws must not break a request in the background. */
function log(logger: Logger, message: string): void {
  try {
    logger.warn(`reprise: ${message}`);
  } catch {
    // There is no other place to report it.
  }
}

/** Waits; throws the reason of the signal if that comes first. */
async function pause(seconds: number, signal: AbortSignal): Promise<void> {
  await sleep(seconds * 1000, undefined, { signal }).catch(() => signal.throwIfAborted());
}
