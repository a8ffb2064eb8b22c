/** Sends batches to the address of a prompt, and reads what Reprise answers. */

const AWAY = [408, 429, 502, 503, 504];
// What proxies, firewalls and ingresses answer while Reprise is not behind them. Reprise adds a message and a code.
const OF_PROXIES = [401, 403, 404, 405, 407, 421];
const MESSAGE_MAX = 500;
/** Bytes of an answer to a batch, which has a number and a message. */
const ANSWER_MAX = 1_000_000;

/**
 * What became of a batch: stored (perhaps without some spans), refused for ever, or not accepted now (`away`).
 *
 * `broken` answers are errors of the server, which the same batch may cause again.
 */
export type Outcome =
  | { readonly kind: "stored"; readonly rejected: number; readonly message: string }
  | { readonly kind: "refused"; readonly message: string }
  | { readonly kind: "away"; readonly message: string; readonly retryAfterMs: number | null; readonly broken: boolean };

/** The address of a prompt's spans and the key that may write to it. */
export class Endpoint {
  readonly url: string;
  readonly #headers: Record<string, string>;
  readonly #timeoutMs: number;

  constructor(url: string, apiKey: string, timeoutMs: number) {
    this.url = url;
    this.#headers = {
      Authorization: `Bearer ${apiKey}`,
      "Content-Type": "application/json",
      "Content-Encoding": "gzip",
    };
    this.#timeoutMs = timeoutMs;
  }

  /** Sends a compressed batch once, or until `stop` is set. Never rejects. */
  async send(body: Uint8Array<ArrayBuffer>, stop: AbortSignal): Promise<Outcome> {
    try {
      const signal = AbortSignal.any([stop, AbortSignal.timeout(this.#timeoutMs)]);
      const sent = { method: "POST", headers: this.#headers, body, redirect: "manual", signal } as const;
      const response = await fetch(this.url, sent);
      return readAnswer(response.status, response.headers.get("Retry-After"), await textOf(response));
    } catch (error) {
      return away(String((error as Error).cause ?? error));
    }
  }
}

/** Returns the text of an answer. Rejects beyond `ANSWER_MAX` bytes, counted after decompression. */
export async function textOf(response: Response): Promise<string> {
  const decoder = new TextDecoder();
  let text = "";
  let size = 0;
  for await (const piece of response.body ?? []) {
    size += piece.byteLength;
    if (size > ANSWER_MAX) throw new Error(`the answer has more than ${ANSWER_MAX} bytes`);
    text += decoder.decode(piece, { stream: true });
  }
  return text + decoder.decode();
}

/** Returns what an answer means for the batch that was sent. */
export function readAnswer(status: number, retryAfter: string | null, text: string): Outcome {
  const body = parse(text);
  const message = `${status}: ${short(body["message"] ?? text)}`;
  if (AWAY.includes(status)) return away(message, milliseconds(retryAfter));
  if (status >= 500) return away(message, null, true);
  if (status >= 300) {
    const isOfProxy = (status < 400 || OF_PROXIES.includes(status)) && !("message" in body && "code" in body);
    return isOfProxy ? away(message) : { kind: "refused", message };
  }
  const partial = body["partialSuccess"];
  if (typeof partial !== "object" || partial === null) return away("the answer is not that of Reprise");
  const { rejectedSpans, errorMessage } = partial as Record<string, unknown>;
  return { kind: "stored", rejected: Number(rejectedSpans ?? 0) || 0, message: short(errorMessage) };
}

function away(message: string, retryAfterMs: number | null = null, broken = false): Outcome {
  return { kind: "away", message, retryAfterMs, broken };
}

function parse(text: string): Record<string, unknown> {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === "object" && value !== null ? (value as Record<string, unknown>) : {};
  } catch {
    return {};
  }
}

function short(text: unknown): string {
  return String(text ?? "").replaceAll(/\s+/g, " ").trim().slice(0, MESSAGE_MAX);
}

function milliseconds(retryAfter: string | null): number | null {
  return retryAfter !== null && /^\d{1,5}$/.test(retryAfter) ? Number(retryAfter) * 1000 : null;
}
