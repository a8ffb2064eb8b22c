/** The JavaScript client of Reprise. */

export type { Choice } from "./cache.js";
export { type Logger, type PromptOptions, Reprise, type RepriseOptions } from "./client.js";
export {
  ApiError,
  AuthenticationError,
  ConfigurationError,
  ConflictError,
  ForbiddenError,
  InvalidRequestError,
  NotFoundError,
  RateLimitedError,
  RepriseError,
  RunTimeoutError,
  ServerError,
  UnreachableError,
} from "./errors.js";
export { promptText } from "./prompt-text.js";
export type { Prompt, Rendered, Selections, State } from "./prompts.js";
export type {
  Fallback,
  InstructionFormat,
  JsonObject,
  PlaceholderDefinition,
  PlaceholderValue,
  PromptJson,
} from "./records.js";
export { ReplayedToolError, replayTool } from "./replay.js";
export type { File, Message, Piece, RunOptions, RunResult, ToolCall, WaitOptions } from "./runs.js";
export type { ScoreOptions, ScoreTarget, ScoreValue } from "./scores.js";
