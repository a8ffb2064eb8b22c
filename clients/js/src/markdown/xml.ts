/** The conversion of a prompt's Markdown to XML: each heading becomes an element. */

import { InvalidRequestError } from "../errors.js";
import { FENCED, TooManyBlocks, scan } from "./blocks.js";
import { textEnd, withoutBlanks } from "./characters.js";
import { withoutMarkup } from "./inline.js";
import { normalizedLabel } from "./links.js";
import { elementName } from "./names.js";

// All of these are the server's: a text beyond them is converted, or refused, as there.
const STEPS_MAX = 200_000;
const LONGEST_PARSED_TITLE = 300;
const MARKS_IN_A_TITLE = 40;
const MARKS_IN_ALL = 5_000;

const ROOT = "instructions";
const FORBIDDEN = /[^\t\n\r\x20-\uD7FF\uE000-\uFFFD\u{10000}-\u{10FFFF}]/gu; // XML 1.0, production 2
const MARKUP = /[\\`*_[<&]/g;
const MARKS_ALONE = /^([ \t>]*)(=+|-+|`{3,}|~{3,})([ \t]*)$/;

/**
 * Converts a text, placeholders filled in, to `<instructions>…</instructions>`.
 *
 * The result is well-formed for any text; a character that XML 1.0 forbids becomes U+FFFD. Only LF and CRLF end a line.
 * Needs time linear in the text; throws an `InvalidRequestError` for one of more lines and blocks than `STEPS_MAX`.
 */
export function toXml(text: string): string {
  const lines = text.replace(FORBIDDEN, "\ufffd").replaceAll("\r\n", "\n").split("\n");
  if (lines.length > 1 && lines.at(-1) === "") lines.pop();
  const { kinds, labels } = structureOf(lines);
  const titles = new Titles(labels);
  return [`<${ROOT}>`, ...elements(lines, kinds, titles), `</${ROOT}>`].join("\n");
}

function structureOf(lines: readonly string[]): ReturnType<typeof scan> {
  try {
    return scan(lines.map(withoutUnderline), STEPS_MAX);
  } catch (error) {
    if (!(error instanceof TooManyBlocks)) throw error;
    const message = `value: XML has at most ${STEPS_MAX} lines, lists and quotes.`;
    throw new InvalidRequestError(message, { status: 400 });
  }
}

/**
 * Returns the line as the scanner reads it, to which a carriage return by itself is a character like any other.
 *
 * A line of marks underlines nothing: it is text, an item of a list or a thematic break, as it would be without the rest.
 */
function withoutUnderline(raw: string): string {
  const line = raw.replaceAll("\r", "x");
  if (!"=-`~ \t".includes(line.slice(-1))) return line;
  const [, indent = "", marks = "", blanks = ""] = MARKS_ALONE.exec(line) ?? [];
  if (marks === "") return line;
  if ("`~".includes(marks.charAt(0))) return indent + marks + " ".repeat(blanks.length);
  if (marks.startsWith("=") || marks.length === 2) return indent + "x".repeat(marks.length) + blanks;
  return indent + (marks === "-" ? "+" : "*".repeat(marks.length)) + blanks;
}

function* elements(lines: readonly string[], kinds: readonly number[], titles: Titles): Generator<string> {
  const open: { level: number; name: string }[] = [];
  for (const [index, line] of lines.entries()) {
    const level = kinds[index] ?? 0;
    if (level > 0) {
      yield* close(open, level);
      const name = elementName(titles.withoutMarkup(titleOf(line, level)));
      open.push({ level, name });
      yield `<${name}>`;
    } else if (level === FENCED || !["", "---"].includes(withoutBlanks(line))) {
      yield line.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");
    }
  }
  yield* close(open, 1);
}

/** Closes, innermost first, every open element of this level or a deeper one. */
function* close(open: { level: number; name: string }[], level: number): Generator<string> {
  for (let last = open.at(-1); last && last.level >= level; last = open.at(-1)) {
    yield `</${last.name}>`;
    open.pop();
  }
}

/** Returns a heading's text without its marks and without the optional closing sequence of `#`. */
function titleOf(line: string, level: number): string {
  const text = withoutBlanks(withoutBlanks(line).slice(level));
  const unclosed = text.slice(0, textEnd(text, "#"));
  return unclosed === "" || " \t".includes(unclosed.slice(-1)) ? withoutBlanks(unclosed) : text;
}

/** Strips the markup of the titles of one text, within a budget of marks. */
class Titles {
  readonly #labels: readonly string[];
  #references: ReadonlySet<string> | null = null;
  #marksLeft = MARKS_IN_ALL;

  constructor(labels: readonly string[]) {
    this.#labels = labels;
  }

  /** A title that is too long, or has too many marks, is used unchanged. */
  withoutMarkup(title: string): string {
    if (codePoints(title) > LONGEST_PARSED_TITLE || !this.#isParsed(title.match(MARKUP)?.length ?? 0)) return title;
    this.#references ??= new Set(this.#labels.map(normalizedLabel));
    return withoutMarkup(title, this.#references);
  }

  /** Returns whether a title of so many marks is parsed, and spends them from the budget. */
  #isParsed(marks: number): boolean {
    if (marks === 0 || marks > Math.min(MARKS_IN_A_TITLE, this.#marksLeft)) return false;
    this.#marksLeft -= marks;
    return true;
  }
}

function codePoints(text: string): number {
  let count = 0;
  for (const _ of text) count += 1;
  return count;
}
