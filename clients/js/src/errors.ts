/** The errors of the client, all of them a `RepriseError`; the message of an answer's error is the server's. */

const RETRY_AFTER_MAX_S = 3600;
const MESSAGE_MAX = 2000;

/** The root of all errors of this client. */
export class RepriseError extends Error {
  constructor(message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = new.target.name;
  }
}

/** An argument or an environment variable that no request can be made of. */
export class ConfigurationError extends RepriseError {}

/** No answer: the server is away, the network is slow, or something else answers at its address. */
export class UnreachableError extends RepriseError {}

/** A run lasts longer than the caller waits. It continues: `runId`, if it is known, leads to its result. */
export class RunTimeoutError extends RepriseError {
  readonly runId: number | null;

  constructor(message: string, runId: number | null = null) {
    super(message);
    this.runId = runId;
  }
}

/** What an answer with an error has besides its message. */
export interface ErrorDetails {
  status: number;
  runId?: number | null;
  retryAfterS?: number | null;
}

/** An answer with an error. */
export class ApiError extends RepriseError {
  /** The status of HTTP. */
  readonly status: number;
  /** The id of the run, if the request began one. */
  readonly runId: number | null;
  /** The seconds after which to ask again, if the server sent them. */
  readonly retryAfterS: number | null;

  constructor(message: string, { status, runId = null, retryAfterS = null }: ErrorDetails) {
    super(message);
    this.status = status;
    this.runId = runId;
    this.retryAfterS = retryAfterS;
  }
}

/** The request can't be understood or is out of the server's limits (400, 413, 415). */
export class InvalidRequestError extends ApiError {}

/** The API key is missing, unknown, revoked or expired (401). */
export class AuthenticationError extends ApiError {}

/** The API key lacks the scope for the request (403). */
export class ForbiddenError extends ApiError {}

/** The prompt, label, version or run does not exist in the key's project (404). */
export class NotFoundError extends ApiError {}

/** The state on the server does not allow the request (409, 412). */
export class ConflictError extends ApiError {}

/** The key has used up its requests of this minute (429). */
export class RateLimitedError extends ApiError {}

/** The server or the vendor of the model failed (500 to 599). */
export class ServerError extends ApiError {}

const BY_STATUS = new Map<number, typeof ApiError>([
  [401, AuthenticationError],
  [403, ForbiddenError],
  [404, NotFoundError],
  [409, ConflictError],
  [412, ConflictError],
  [429, RateLimitedError],
]);

/** Returns the error of an answer with this status, 300 or more. */
export function errorOf(message: string, details: ErrorDetails): ApiError {
  const refused = details.status >= 400 && details.status < 500;
  const kind = BY_STATUS.get(details.status) ?? (refused ? InvalidRequestError : ServerError);
  return new kind(message.slice(0, MESSAGE_MAX), details);
}

/** Returns the seconds of `Retry-After`, which has a number or a date, from 0 to an hour; null without it. */
export function retryAfterS(headers: Headers): number | null {
  const value = headers.get("Retry-After")?.trim() ?? "";
  const seconds = /^\d+$/.test(value) ? Number(value) : (Date.parse(value) - Date.now()) / 1000;
  return Number.isNaN(seconds) ? null : Math.min(Math.max(seconds, 0), RETRY_AFTER_MAX_S);
}
