/** The requests of a client and their answers; a failure is an `UnreachableError`. */

import type { Connection } from "./connection.js";
import { errorOf, retryAfterS, UnreachableError } from "./errors.js";
import { foreign, isText, type JsonObject, parseObject } from "./records.js";

const ANSWER_MAX = 64_000_000;

export type Fetch = typeof globalThis.fetch;

/** A request of the client. */
export interface Request {
  readonly method: "GET" | "POST";
  readonly path: string;
  readonly headers?: { readonly [name: string]: string };
  readonly body?: string;
}

type Signals = readonly (AbortSignal | undefined)[];

/** Aborts what lasts longer than `limitS`, and what one of `signals` ends, with the reason of that. */
export class Deadline {
  readonly #controller = new AbortController();
  readonly #timer: NodeJS.Timeout;
  readonly #signals: readonly AbortSignal[];
  readonly #abort = (event: Event): void => this.#controller.abort((event.target as AbortSignal).reason);

  constructor(limitS: number, signals: Signals, late: () => Error = () => lateAnswer(limitS)) {
    // What is waited for keeps the process alive, and not the clock.
    this.#timer = setTimeout(
      () => this.#controller.abort(late()),
      Math.min(Math.max(0, limitS * 1000), 2 ** 31 - 1),
    ).unref();
    this.#signals = signals.filter((signal) => signal !== undefined);
    for (const signal of this.#signals) {
      if (signal.aborted) this.#controller.abort(signal.reason);
      signal.addEventListener("abort", this.#abort);
    }
  }

  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  /** Restarts the time. */
  refresh(): void {
    this.#timer.refresh();
  }

  /** Ends what the deadline is for, if it has not ended. */
  release(): void {
    clearTimeout(this.#timer);
    for (const signal of this.#signals) signal.removeEventListener("abort", this.#abort);
    this.#controller.abort(new UnreachableError("The answer is not waited for any more."));
  }
}

function lateAnswer(limitS: number): UnreachableError {
  return new UnreachableError(`No answer came within ${limitS} s.`);
}

/** An answer that was received as a whole. */
export class Reply {
  readonly url: string;
  readonly status: number;
  readonly headers: Headers;
  readonly body: string;

  constructor(url: string, status: number, headers: Headers, body: string) {
    this.url = url;
    this.status = status;
    this.headers = headers;
    this.body = body;
  }

  get runId(): number | null {
    return runIdOf(this.headers);
  }

  /** Returns the answer; throws its error, in the server's words. */
  checked(): Reply {
    if (this.status < 300) return this;
    const error = parseObject(this.body)?.["error"];
    const message = isText(error) ? error : `${this.url} answered ${this.status}.`;
    throw errorOf(message, { status: this.status, runId: this.runId, retryAfterS: retryAfterS(this.headers) });
  }

  /** Returns the JSON object of the answer. */
  json(): JsonObject {
    const found = parseObject(this.body);
    if (found === null) throw foreign(this.url);
    return found;
  }
}

export function runIdOf(headers: Headers): number | null {
  const value = headers.get("X-Run-Id") ?? "";
  return /^\d{1,15}$/.test(value) ? Number(value) : null;
}

/** Sends requests to one server. */
export class Transport {
  readonly #connection: Connection;
  readonly #fetch: Fetch;

  constructor(connection: Connection, fetch: Fetch) {
    this.#connection = connection;
    this.#fetch = fetch;
  }

  /** Returns the whole answer, of whatever status. */
  async send(request: Request, deadline: Deadline): Promise<Reply> {
    return this.whole(await this.open(request, deadline), deadline);
  }

  /** Returns the answer once its headers are there. Follows no redirection: it would make a GET of a POST. */
  async open({ method, path, headers, body }: Request, { signal }: Deadline): Promise<Response> {
    const options = {
      method,
      headers: { ...this.#connection.headers(), ...headers },
      redirect: "manual",
      signal,
    } as const;
    return this.#reaching(signal, () =>
      this.#fetch(this.#connection.baseUrl + path, body === undefined ? options : { ...options, body }),
    );
  }

  /** Returns the answer with its body, of bounded length. */
  async whole(response: Response, deadline: Deadline): Promise<Reply> {
    const decoder = new TextDecoder();
    const texts: string[] = [];
    let length = 0;
    for await (const piece of this.pieces(response, deadline)) {
      length += piece.length;
      if (length > ANSWER_MAX)
        throw new UnreachableError(`An answer of more than ${ANSWER_MAX} bytes is none of Reprise.`);
      texts.push(decoder.decode(piece, { stream: true }));
    }
    texts.push(decoder.decode());
    return new Reply(response.url || this.#connection.baseUrl, response.status, response.headers, texts.join(""));
  }

  /** Yields the body as it arrives, and ends the connection where the caller stops before its end. */
  async *pieces(response: Response, { signal }: Deadline): AsyncGenerator<Uint8Array, void, void> {
    const reader = response.body?.getReader();
    if (reader === undefined) return;
    try {
      for (;;) {
        const { done, value } = await this.#reaching(signal, () => reader.read());
        if (done) return;
        yield value;
      }
    } finally {
      reader.cancel().catch(() => undefined);
    }
  }

  /** Returns what `work` gives; what the network does to it is an `UnreachableError`. */
  async #reaching<T>(signal: AbortSignal, work: () => Promise<T>): Promise<T> {
    try {
      return await work();
    } catch (problem) {
      if (signal.aborted) throw signal.reason;
      throw new UnreachableError(`${this.#connection.baseUrl}: ${messageOf(problem)}`, { cause: problem });
    }
  }
}

/** Returns what is wrong: `fetch` has it in the cause of its error. */
export function messageOf(problem: unknown): string {
  const causes = [problem instanceof Error ? problem.cause : null, problem];
  const messages = causes.flatMap((cause) =>
    cause instanceof Error ? [cause.message, (cause as NodeJS.ErrnoException).code] : [],
  );
  return messages.find(Boolean) ?? String(problem);
}
