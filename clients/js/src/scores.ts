/** Scores: the request that gives one, and the answer once it is stored. */

import { randomUUID } from "node:crypto";

import { foreign, isText, toJson } from "./records.js";
import { type RunRequest, type WaitOptions, waited } from "./runs.js";
import type { Reply } from "./transport.js";

const WAIT_S = 60;

/** The scored thing: a session (`sessionId`, or `promptId` and `conversationId`), turn, step (with `spanId`) or run. */
export interface ScoreTarget {
  readonly sessionId?: string | undefined;
  readonly promptId?: number | undefined;
  readonly conversationId?: string | undefined;
  readonly traceId?: string | undefined;
  readonly spanId?: string | undefined;
  readonly runId?: number | undefined;
}

/** What is scored, and how. The caller waits 60 seconds by default. */
export interface ScoreOptions extends ScoreTarget, WaitOptions {
  readonly comment?: string | undefined;
  /** A score with the id of one that is stored replaces that; by default each call has another one. */
  readonly id?: string | undefined;
}

/** A number, true or false, or the name of a category. */
export type ScoreValue = number | boolean | string;

export function scoreRequest(name: string, value: ScoreValue, options: ScoreOptions): RunRequest {
  const { sessionId, promptId, conversationId, traceId, spanId, runId, comment, id = randomUUID() } = options;
  const { timeoutS = WAIT_S, signal } = options;
  const target: ScoreTarget = { sessionId, promptId, conversationId, traceId, spanId, runId };
  return {
    method: "POST",
    path: "/api/v1/scores",
    headers: { "Content-Type": "application/json" },
    body: toJson({ id, name, value, comment, target }, "score"),
    ...waited({ timeoutS, signal }),
  };
}

/** Returns the id of the stored score in an answer. */
export function storedId(reply: Reply): string {
  const { id } = reply.json();
  if (!isText(id)) throw foreign(reply.url);
  return id;
}
