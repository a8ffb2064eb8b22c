/**
 * Server-sent events, read from the pieces in which they arrive.
 *
 * https://html.spec.whatwg.org/multipage/server-sent-events.html
 */

import { UnreachableError } from "./errors.js";

const EVENT_MAX = 64_000_000;

/** An event of a stream; `id` is "" for one without. */
export interface StreamEvent {
  readonly kind: string;
  readonly data: string;
  readonly id: string;
}

/** Reads the events of one connection; only LF and CRLF end a line, as the server sends no other. */
export class EventReader {
  readonly #decoder = new TextDecoder();
  /** What came of the line that has not ended, in pieces: each is looked at once, however long the line. */
  #begun: string[] = [];
  #lines: string[] = [];
  #length = 0;
  readonly #longest: number;

  /** `longest` is the most characters of an event. */
  constructor(longest = EVENT_MAX) {
    this.#longest = longest;
  }

  /** Yields each event that ends in this piece, which may begin and end within a character. */
  *feed(piece: Uint8Array): Generator<StreamEvent, void, void> {
    const [first = "", ...others] = this.#decoder.decode(piece, { stream: true }).split("\n");
    this.#begin(first);
    for (const other of others) {
      const event = this.#endLine();
      if (event) yield event;
      this.#begin(other);
    }
  }

  #begin(text: string): void {
    this.#begun.push(text);
    this.#length += text.length;
    if (this.#length > this.#longest) {
      throw new UnreachableError(`An event of more than ${this.#longest} characters is none of Reprise.`);
    }
  }

  /** Returns the event that the line ends, if it is an empty line. */
  #endLine(): StreamEvent | null {
    const line = this.#begun.join("").replace(/\r$/, "");
    this.#begun = [];
    if (line) {
      this.#lines.push(line);
      return null;
    }
    const event = eventOf(this.#lines);
    this.#lines = [];
    this.#length = 0;
    return event;
  }
}

/** Returns the event of these lines; null for comments and others without data. */
function eventOf(lines: readonly string[]): StreamEvent | null {
  const fields: { event: string[]; data: string[]; id: string[] } = { event: [], data: [], id: [] };
  for (const line of lines) {
    const [, name = "", value = ""] = /^([^:]*):? ?(.*)$/s.exec(line) ?? [];
    if (name === "event" || name === "data" || name === "id") fields[name].push(value);
  }
  if (!fields.data.length) return null;
  return { kind: fields.event.at(-1) ?? "message", data: fields.data.join("\n"), id: fields.id.at(-1) ?? "" };
}
