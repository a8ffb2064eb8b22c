/** Runs of prompts: what is sent, what comes back, and when a request is repeated. */

import { randomUUID } from "node:crypto";

import { type Choice, monotonicS, wantedOf } from "./cache.js";
import {
  ConfigurationError,
  errorOf,
  RateLimitedError,
  RepriseError,
  RunTimeoutError,
  ServerError,
  UnreachableError,
} from "./errors.js";
import { EventReader, type StreamEvent } from "./events.js";
import { checked, type Selections } from "./prompts.js";
import { foreign, isListOf, isObject, isText, type JsonObject, parseObject, toJson } from "./records.js";
import { type Reply, type Request, runIdOf } from "./transport.js";

const TRIES = 6;
const PAUSE_S = 0.5;
const PAUSE_MAX_S = 60;
const WAIT_S = 600;
const LAST_ID = "end";

/** A file that goes to the model with the question. */
export interface File {
  readonly name: string;
  readonly content: Uint8Array;
  readonly mediaType: string;
}

/** How long a caller waits, and what ends the wait before. */
export interface WaitOptions {
  /** How long the caller waits in all, 600 by default. */
  readonly timeoutS?: number | undefined;
  /** Ends the wait with the reason of the signal. The run goes on. */
  readonly signal?: AbortSignal | undefined;
}

/** How a prompt is run. */
export interface RunOptions extends Choice, WaitOptions {
  readonly placeholders?: Selections | undefined;
  /** Decides at a split of the label, such as the id of a user. */
  readonly splitKey?: string | undefined;
  /** Decides before `splitKey`, and is the value of the placeholder `memory_key`. */
  readonly memoryKey?: string | undefined;
  /** The name of a model to ask in the place of the version's own. */
  readonly model?: string | undefined;
  /** The conversation before the question. */
  readonly history?: readonly Message[] | undefined;
  readonly files?: readonly File[] | undefined;
  /** Requests with the same key make one run; by default each call has another one. */
  readonly idempotencyKey?: string | undefined;
}

/** A call of a tool that the model asked for. */
export interface ToolCall {
  readonly id: string;
  readonly name: string;
  readonly arguments: unknown;
}

/** A message before a run's question. Every call of a tool is followed by its result, a message of the role `tool`. */
export interface Message {
  readonly role: "user" | "assistant" | "tool";
  readonly text: string;
  /** The calls of the `assistant`. */
  readonly toolCalls?: readonly ToolCall[] | undefined;
  /** The call that a message of the role `tool` answers. */
  readonly toolCallId?: string | undefined;
}

/** A piece of an answer that is being written: of its text, of the model's reasoning, or one whole tool call. */
export type Piece =
  | { readonly kind: "token" | "reasoning"; readonly text: string }
  | { readonly kind: "tool_call"; readonly toolCall: ToolCall };

/** The end of a run. */
export interface RunResult {
  readonly kind: "result";
  readonly runId: number | null;
  readonly answer: string;
  readonly tokens: { readonly prompt?: number; readonly completion?: number; readonly total?: number };
  readonly responseTimeMs: number;
  readonly resolved: { readonly [key: string]: string | null };
  readonly ignored: readonly string[];
  /** Why the answer can't be used as it was asked for; null for one that can be. */
  readonly nok: string | null;
  /** The model that answered: `id`, `name` and `vendor`. */
  readonly model: { readonly id?: number; readonly name?: string; readonly vendor?: string };
  readonly cost: JsonObject | null;
  readonly toolCalls: readonly ToolCall[];
  readonly chainOfThoughts: string | null;
  /** Whether the prompt's second model answered. */
  readonly fallback: boolean;
  /** The whole answer of the API. */
  readonly raw: JsonObject;
}

/** A request for a run or of a score, the same each time that it is sent; `deadline` is in monotonic seconds. */
export interface RunRequest extends Request {
  readonly headers: { readonly [name: string]: string };
  readonly deadline: number;
  readonly signal: AbortSignal | undefined;
}

export function runRequest(id: number, question: string, options: RunOptions): RunRequest {
  const { label, version, draft = false, files = [], idempotencyKey = randomUUID(), splitKey, memoryKey } = options;
  const { model: languageModelName, history } = options;
  wantedOf(id, options, false);
  if (!/^[ -~]{1,255}$/.test(idempotencyKey)) {
    throw new ConfigurationError("idempotencyKey: a key has 1 to 255 printable ASCII characters.");
  }
  const body = {
    id,
    question,
    placeholders: checked(options.placeholders ?? {}),
    productive: !draft,
    label,
    commitHash: version,
    splitKey,
    memoryKey,
    languageModelName,
    history,
    files: files.map(fileJson),
  };
  return {
    method: "POST",
    path: "/api/v1/prompts/run",
    headers: { "Content-Type": "application/json", "Idempotency-Key": idempotencyKey },
    body: toJson(body, "run"),
    ...waited(options),
  };
}

export function eventsRequest(runId: number, options: WaitOptions): RunRequest {
  if (!Number.isSafeInteger(runId) || runId < 1)
    throw new ConfigurationError(`${String(runId)} is not the id of a run.`);
  return { method: "GET", path: `/api/v1/runs/${runId}/events`, headers: {}, ...waited(options) };
}

export function waited({ timeoutS = WAIT_S, signal }: WaitOptions): Pick<RunRequest, "deadline" | "signal"> {
  return { deadline: monotonicS() + timeoutS, signal };
}

function fileJson({ name, content, mediaType }: File): JsonObject {
  const { buffer, byteOffset, byteLength } = content;
  return {
    fileName: name,
    contentType: mediaType,
    base64: Buffer.from(buffer, byteOffset, byteLength).toString("base64"),
  };
}

/** Returns the result of a run's answer. */
export function resultOf(body: string, runId: number | null, url: string): RunResult {
  const raw = parseObject(body);
  if (raw === null || !isText(raw["answer"])) throw foreign(url);
  const { answer, tokens, response_time_ms: time, status, model, cost, toolCalls, chainOfThoughts, fallback } = raw;
  const { resolved, ignored }: JsonObject = objectOr(raw["placeholders"], {});
  return {
    kind: "result",
    runId,
    answer,
    tokens: objectOr(tokens, {}),
    responseTimeMs: typeof time === "number" ? time : 0,
    resolved: objectOr(resolved, {}) as RunResult["resolved"],
    ignored: isListOf(ignored, isText) ? ignored : [],
    nok: isText(status) ? status.replace(/^NOK: /, "") : null,
    model: objectOr(model, {}),
    cost: objectOr(cost, null),
    toolCalls: isListOf(toolCalls, isToolCall) ? toolCalls : [],
    chainOfThoughts: isText(chainOfThoughts) ? chainOfThoughts : null,
    fallback: fallback === true,
    raw,
  };
}

function objectOr<T extends JsonObject | null>(found: unknown, otherwise: T): JsonObject | T {
  return isObject(found) ? found : otherwise;
}

function isToolCall(found: unknown): found is ToolCall {
  return isObject(found) && isText(found["name"]);
}

/** Decides whether a request is sent again. Its key keeps it from beginning a second run, an id from a second score. */
export class Retries {
  readonly #deadline: number;
  #failures = 0;

  constructor(request: RunRequest) {
    this.#deadline = request.deadline;
  }

  /** Returns the seconds until the next try; throws the problem where another try would not help. */
  pauseS(problem: unknown): number {
    this.#failures += 1;
    if (this.#failures === TRIES || !isPassing(problem)) throw problem;
    const asked = (problem instanceof RateLimitedError || problem instanceof ServerError) && problem.retryAfterS;
    const pauseS = Math.min(asked || PAUSE_S * 2 ** (this.#failures - 1), PAUSE_MAX_S) * (1 + Math.random() / 5);
    if (monotonicS() + pauseS > this.#deadline) throw problem;
    return pauseS;
  }

  /** Restarts the count of failures, as the server has sent more of the run. */
  progressed(): void {
    this.#failures = 0;
  }
}

/** Returns whether a problem goes by. 502 and 504 with a run are the end of that run; without, a proxy's. */
function isPassing(problem: unknown): problem is RepriseError {
  if (problem instanceof ServerError) {
    return problem.status === 503 || ([502, 504].includes(problem.status) && problem.runId === null);
  }
  return problem instanceof UnreachableError || problem instanceof RateLimitedError;
}

export function lateRun(runId: number | null): RunTimeoutError {
  const run = runId === null ? "The run" : `Run ${runId}`;
  return new RunTimeoutError(`${run} lasts longer than the caller waits; it continues.`, runId);
}

/** Follows the events of a run over as many connections as needed; no piece comes twice. */
export class Follower {
  readonly #request: RunRequest;
  #reader = new EventReader();
  #lastId = "";
  #runId: number | null = null;
  #url = "";

  constructor(request: RunRequest) {
    this.#request = request;
  }

  /** The request that continues after the last event that came. */
  get request(): Request {
    const resumed = this.#lastId ? { "Last-Event-ID": this.#lastId } : {};
    return { ...this.#request, headers: { ...this.#request.headers, Accept: "text/event-stream", ...resumed } };
  }

  /** Returns the error for a caller who waits no longer. */
  late(): RunTimeoutError {
    return lateRun(this.#runId);
  }

  connected(response: Response): void {
    this.#reader = new EventReader();
    this.#url = response.url;
    this.#runId = runIdOf(response.headers) ?? this.#runId;
  }

  /** Yields what a piece of the stream completes; throws the error that the stream ends with. */
  *feed(piece: Uint8Array): Generator<Piece | RunResult, void, void> {
    for (const event of this.#reader.feed(piece)) {
      const found = this.#read(event);
      this.#lastId = event.id || this.#lastId;
      if (found) yield found;
    }
  }

  /** Returns the content of an event; null for a kind that later servers may send. */
  #read({ kind, data, id }: StreamEvent): Piece | RunResult | null {
    if (kind === "done") return resultOf(data, this.#runId, this.#url);
    const found = parseObject(data);
    if (found === null) throw foreign(this.#url);
    if (kind === "error") throw this.#errorOf(found, id);
    if (kind === "tool_call") return { kind, toolCall: found as unknown as ToolCall };
    if (kind !== "token" && kind !== "reasoning") return null;
    return { kind, text: isText(found["text"]) ? found["text"] : "" };
  }

  /** Returns an error of the run, or, without an id, of the stream: then the run goes on. */
  #errorOf({ status, error }: JsonObject, id: string): RepriseError {
    const runId = id === LAST_ID ? this.#runId : null;
    return errorOf(isText(error) ? error : "", { status: typeof status === "number" ? status : 500, runId });
  }
}

/** Returns the run that an answer names. */
export function startedRun(reply: Reply): number {
  if (reply.runId === null) throw new UnreachableError(`${reply.url} answered without the id of the run.`);
  return reply.runId;
}
