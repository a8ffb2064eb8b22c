/** Tools of a program that get their results from a replay, while `reprise gate --tools program` plays it. */

import { RepriseError } from "./errors.js";
import { parseObject } from "./records.js";
import { messageOf } from "./transport.js";

const TIMEOUT_MS = 60_000;

/** The recorded call failed, or the recording has no result for it. */
export class ReplayedToolError extends RepriseError {}

/**
 * Return a function with the results of the replay in the place of `run`, which never runs in a replay. Outside of a
 * replay a call goes to `run`. The first argument is the object with the tool's arguments.
 */
export function replayTool<Arguments, Result, Rest extends unknown[]>(
  name: string,
  run: (args: Arguments, ...rest: Rest) => Result | Promise<Result>,
): (args: Arguments, ...rest: Rest) => Promise<Result> {
  return async (args, ...rest) => {
    const { REPRISE_REPLAY_TOKEN: token, REPRISE_REPLAY_URL: url } = process.env;
    if (!token) return run(args, ...rest);
    return (await answerOf(name, `${url}/api/replay/tools`, token, args)) as Result;
  };
}

/** Returns the result of a call. Follows no redirection: another host would decide what the tool returns. */
async function answerOf(name: string, url: string, token: string, args: unknown): Promise<unknown> {
  const headers = { Authorization: `Bearer ${token}`, "Content-Type": "application/json" };
  const body = JSON.stringify({ name, arguments: args });
  const signal = AbortSignal.timeout(TIMEOUT_MS);
  let status: number, text: string;
  try {
    const response = await fetch(url, { method: "POST", headers, body, redirect: "manual", signal });
    [status, text] = [response.status, await response.text()];
  } catch (problem) {
    throw new ReplayedToolError(`${name}: the replay does not answer: ${messageOf(problem)}`, { cause: problem });
  }
  if (status !== 200) throw new ReplayedToolError(`${name}: ${text || `${url} answered ${status}.`}`);
  const answer = parseObject(text);
  if (answer?.["error"] === undefined) throw new ReplayedToolError(`${name}: ${url} did not answer as Reprise does.`);
  if (answer["error"] !== null) throw new ReplayedToolError(`${name}: ${String(answer["error"])}`);
  return answer["result"];
}
