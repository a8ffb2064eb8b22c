/**
 * Records conversations, turns and tools of code that has no instrumentation, as the GenAI conventions write them.
 *
 * Where nothing was set up, these record nothing and cost next to nothing.
 */

import { type Attributes, type HrTime, type Span, SpanStatusCode, trace } from "@opentelemetry/api";

import { closeTurn, laterOf, openTurn, withAttributes } from "./scope.js";

/** What a turn records about its prompt: the commit hash of the version, and the values of the placeholders. */
export interface RenderedPrompt {
  readonly version: string | null;
  readonly resolved: Readonly<Record<string, string | null>>;
}

export interface ConversationOptions {
  /** Who speaks. */
  readonly user?: string;
  /** What the model is given. */
  readonly prompt?: RenderedPrompt;
  /** The prompt that the spans belong to, where it is not the one that was set up. */
  readonly promptId?: number;
}

export interface AnswerOptions {
  readonly model?: string;
  readonly inputTokens?: number;
  readonly outputTokens?: number;
}

/** A turn in work. */
export interface Turn {
  /** Sets what the agent answered, and by which model with how many tokens, where that is known. */
  answer(text: string, options?: AnswerOptions): void;
}

let captured = true;

/** Sets whether messages are recorded. Instrumentations have other switches. */
export function setCaptured(value: boolean): void {
  captured = value;
}

/** Runs `work`, and names the conversation of all spans that start within, whichever library starts them. */
export function conversation<Result>(id: string, options: ConversationOptions, work: () => Result): Result {
  const attributes = {
    "gen_ai.conversation.id": id,
    "user.id": options.user,
    "service.prompt.id": options.promptId,
    ...promptAttributes(options.prompt),
  };
  return withAttributes(attributes as Attributes, work);
}

/**
 * Runs `work` as one turn: a span that all others of the turn are within, so that they are one trace.
 *
 * Where no instrumentation records the model's calls, the question and the answer are recorded as one; where one does,
 * they are not recorded twice.
 */
export function turn<Result>(
  question: string,
  work: (turn: Turn) => Promise<Result> | Result,
  options: { readonly prompt?: RenderedPrompt } = {},
): Promise<Result> {
  return withAttributes(promptAttributes(options.prompt), () => {
    return recorded("invoke_agent", inputOf(question), (span) => heldTurn(question, span, work));
  });
}

async function heldTurn<Result>(question: string, span: Span, work: (turn: Turn) => Result): Promise<Awaited<Result>> {
  const recorded: Attributes = {};
  const { traceId } = span.spanContext();
  if (span.isRecording()) openTurn(traceId);
  let failure: unknown = null;
  try {
    return await work({ answer: (text, options) => void Object.assign(recorded, answerOf(text, options)) });
  } catch (error) {
    failure = error ?? new Error("unknown");
    throw error;
  } finally {
    span.setAttributes(recorded);
    const latestEnd = closeTurn(traceId);
    if (latestEnd !== null) recordModelCall({ ...inputOf(question), ...recorded }, after(latestEnd), failure);
  }
}

/** Returns the time, later than `end`: the clock by which spans start has milliseconds, the one by which they end more. */
function after([seconds, nanos]: HrTime): HrTime {
  const now = Date.now();
  const time: HrTime = [Math.floor(now / 1000), (now % 1000) * 1_000_000];
  return laterOf(time, nanos < 999_999_999 ? [seconds, nanos + 1] : [seconds + 1, 0]);
}

function recordModelCall(attributes: Attributes, time: HrTime, failure: unknown): void {
  const recorded = { "gen_ai.operation.name": "chat", ...attributes };
  const span = tracer().startSpan("chat", { attributes: recorded, startTime: time });
  if (failure !== null) setError(span, failure);
  span.end(time);
}

/** Runs `work` as one call of a tool; what it returns, or throws, is recorded as the call's result, or error. */
export function runTool<Result>(
  name: string,
  args: unknown,
  work: () => Promise<Result> | Result,
  options: { readonly callId?: string } = {},
): Promise<Result> {
  const attributes: Attributes = { "gen_ai.tool.name": name, "gen_ai.tool.type": "function" };
  if (options.callId !== undefined) attributes["gen_ai.tool.call.id"] = options.callId;
  if (captured) attributes["gen_ai.tool.call.arguments"] = toJson(args ?? {});
  return recorded("execute_tool", attributes, async (span) => {
    const result = await work();
    if (captured && span.isRecording()) span.setAttribute("gen_ai.tool.call.result", toContent(result));
    return result;
  }, `execute_tool ${name}`);
}

/** Returns a function that does what `run` does and is recorded as a tool. Its one argument is an object of arguments. */
export function tool<Args extends object, Result>(
  name: string,
  run: (args: Args) => Promise<Result> | Result,
): (args: Args) => Promise<Result> {
  return (args) => runTool(name, args, () => run(args));
}

function recorded<Result>(
  operation: string,
  attributes: Attributes,
  work: (span: Span) => Promise<Result>,
  name = operation,
): Promise<Result> {
  const options = { attributes: { "gen_ai.operation.name": operation, ...attributes } };
  return tracer().startActiveSpan(name, options, async (span) => {
    try {
      return await work(span);
    } catch (error) {
      span.recordException(error instanceof Error ? error : toContent(error));
      setError(span, error);
      throw error;
    } finally {
      span.end();
    }
  });
}

function tracer() {
  return trace.getTracer("@reprise/client");
}

function setError(span: Span, error: unknown): void {
  const [name, message] = error instanceof Error ? [error.name, error.message] : ["Error", toContent(error)];
  span.setAttribute("error.type", name);
  span.setStatus({ code: SpanStatusCode.ERROR, message });
}

function promptAttributes(prompt: RenderedPrompt | undefined): Attributes {
  if (prompt === undefined) return {};
  const chosen = Object.entries(prompt.resolved).filter(([, name]) => name !== null);
  const placeholders = { "service.prompt.placeholders": JSON.stringify(Object.fromEntries(chosen)) };
  return prompt.version === null ? placeholders : { ...placeholders, "service.prompt.version": prompt.version };
}

function inputOf(question: string): Attributes {
  const message = { role: "user", parts: [{ type: "text", content: question }] };
  return captured ? { "gen_ai.input.messages": toJson([message]) } : {};
}

function answerOf(text: string, { model, inputTokens, outputTokens }: AnswerOptions = {}): Attributes {
  const message = { role: "assistant", parts: [{ type: "text", content: text }], finish_reason: "stop" };
  const recorded: Attributes = captured ? { "gen_ai.output.messages": toJson([message]) } : {};
  if (model !== undefined) recorded["gen_ai.request.model"] = model;
  if (inputTokens !== undefined) recorded["gen_ai.usage.input_tokens"] = inputTokens;
  if (outputTokens !== undefined) recorded["gen_ai.usage.output_tokens"] = outputTokens;
  return recorded;
}

/** Returns a text unchanged, and anything else as JSON. */
function toContent(value: unknown): string {
  return typeof value === "string" ? value : toJson(value);
}

/** Returns JSON text; for what JSON has no form for, the name of its type. Never throws. */
function toJson(value: unknown): string {
  try {
    return JSON.stringify(value) ?? "null";
  } catch {
    return JSON.stringify(`<${typeof value}>`);
  }
}
