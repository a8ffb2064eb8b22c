/** Tools of a program that get their results from a replay, while `reprise gate --tools program` plays it. */

import { RepriseError } from "./errors.js";

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
    const response = await fetch(`${url}/api/replay/tools`, {
      method: "POST",
      headers: { Authorization: `Bearer ${token}`, "Content-Type": "application/json" },
      body: JSON.stringify({ name, arguments: args }),
    });
    if (!response.ok) throw new ReplayedToolError(`${name}: ${await response.text()}`);
    const answer = (await response.json()) as { result: Result; error: string | null };
    if (answer.error !== null) throw new ReplayedToolError(`${name}: ${answer.error}`);
    return answer.result;
  };
}
