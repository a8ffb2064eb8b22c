/**
 * A title without its inline markup.
 *
 * It is what the parser markdown-it makes of it, which the server uses. An address in angle brackets differs in one
 * respect: a host in Punycode (`xn--…`), in brackets or of more than 255 characters stays as written.
 */

import { isAsciiPunctuation, isPunctuation, isWhiteSpace } from "./characters.js";
import { type Delimiter, paired } from "./emphasis.js";
import { SPACE, addressText, entityAt, inlineLinkEnd, normalizedLabel } from "./links.js";
import { matchAt } from "./starts.js";

/** The depth at which the server's parser stops to look for markup. */
const DEEPEST = 20;

const TEXT_END = /[\n!#$%&*+\-:<=>@[\\\]^_`{}~]/g;
const ATTRIBUTE = `[${SPACE}]+[a-zA-Z_:][a-zA-Z0-9:._-]*(?:[${SPACE}]*=[${SPACE}]*(?:[^"'=<>\`\\0- ]+|'[^']*'|"[^"]*"))?`;
const TAG = new RegExp(
  [
    `<[A-Za-z][A-Za-z0-9-]*(?:${ATTRIBUTE})*[${SPACE}]*/?>`,
    `</[A-Za-z][A-Za-z0-9-]*[${SPACE}]*>`,
    "<!---?>|<!--(?:[^-]|-[^-]|--[^>])*-->",
    "<[?].*?[?]>",
    "<![A-Za-z][^>]*>",
    "<!\\[CDATA\\[.*?\\]\\]>",
  ].join("|"),
  "ys",
);

interface Piece {
  readonly text: string;
  readonly end: number;
}

/**
 * Returns the text of a title of one line: a link's is its text, an image's its description, an HTML tag's is none.
 *
 * `references` are the normalized labels that the title may refer to. Needs time cubic in the title's markup, and nests
 * a few calls for each image in an image, so that the caller bounds both.
 */
export function withoutMarkup(title: string, references: ReadonlySet<string>): string {
  return new Title(title, references).text();
}

class Title {
  readonly #title: string;
  readonly #references: ReadonlySet<string>;
  #at = 0;
  #end: number;
  #depth = 0;
  readonly #skipped = new Map<number, number>();
  readonly #pieces: string[] = [];
  #delimiters: Delimiter[] = [];

  constructor(title: string, references: ReadonlySet<string>) {
    this.#title = title;
    this.#references = references;
    this.#end = title.length;
  }

  text(): string {
    this.#read();
    return this.#pieces.join("");
  }

  /** Adds the pieces of the title from the position to the end. */
  #read(): void {
    while (this.#at < this.#end) {
      if (this.#depth >= DEEPEST || !this.#readOne(false)) {
        this.#pieces.push(this.#title.charAt(this.#at));
        this.#at += 1;
      }
    }
    for (const piece of paired(this.#delimiters)) this.#pieces[piece] = "";
  }

  /** Moves past the markup or the text that is here, and adds its text if not `silent`; false if it is neither. */
  #readOne(silent: boolean): boolean {
    const char = this.#title.charAt(this.#at);
    if (char === "[") return this.#link(silent);
    if (char === "!") return this.#image(silent);
    if (char === "*" || char === "_") return !silent && this.#emphasis(char);
    const found = this.#simple(char);
    if (!found) return false;
    this.#at = found.end;
    if (!silent) this.#pieces.push(found.text);
    return true;
  }

  #simple(char: string): Piece | null {
    switch (char) {
      case "\\":
        return this.#escape();
      case "`":
        return this.#code();
      case "<":
        return this.#address() ?? this.#tag();
      case "&":
        return this.#at + 1 < this.#end ? entityAt(this.#title, this.#at) : null;
    }
    const end = matchAt(TEXT_END, this.#title, this.#at)?.index ?? this.#end;
    return end > this.#at ? { text: this.#title.slice(this.#at, end), end } : null;
  }

  #escape(): Piece | null {
    const after = this.#at + 1;
    if (after >= this.#end) return null;
    const start = isAsciiPunctuation(this.#title.charAt(after)) ? after : this.#at;
    return { text: this.#title.slice(start, after + 1), end: after + 1 };
  }

  /** Returns a span of code, else its marks unchanged. */
  #code(): Piece {
    const opening = runEnd(this.#title, this.#at, this.#end);
    let start = this.#title.indexOf("`", opening);
    while (start >= 0) {
      const end = runEnd(this.#title, start, this.#title.length);
      if (end > this.#end) break;
      if (end - start === opening - this.#at) return { text: codeText(this.#title.slice(opening, start)), end };
      start = this.#title.indexOf("`", end);
    }
    return { text: this.#title.slice(this.#at, opening), end: opening };
  }

  #address(): Piece | null {
    const end = this.#title.indexOf(">", this.#at);
    const text = end >= 0 && end < this.#end ? addressText(this.#title.slice(this.#at + 1, end)) : null;
    return text === null ? null : { text, end: end + 1 };
  }

  #tag(): Piece | null {
    const found = this.#at + 2 < this.#end ? matchAt(TAG, this.#title, this.#at) : null;
    return found && { text: "", end: this.#at + found[0].length };
  }

  #emphasis(mark: string): boolean {
    const start = this.#at;
    let end = start;
    while (end < this.#end && this.#title[end] === mark) end += 1;
    const after = end < this.#end ? String.fromCodePoint(this.#title.codePointAt(end) ?? 0) : " ";
    const flanks = flanksOf(mark, characterBefore(this.#title, start), after);
    for (let at = start; at < end; at += 1) {
      this.#delimiters.push({ mark, run: start, runLength: end - start, ...flanks, piece: this.#pieces.length });
      this.#pieces.push(mark);
    }
    this.#at = end;
    return true;
  }

  #link(silent: boolean): boolean {
    const start = this.#at + 1;
    const labelEnd = this.#labelEnd(this.#at, false);
    if (labelEnd < 0) return false;
    let after = labelEnd + 1;
    if (after < this.#end && this.#title[after] === "(") {
      const closer = inlineLinkEnd(this.#title, after, this.#end);
      if (closer < 0) return false;
      after = closer + 1;
      if (closer < this.#end && this.#title[closer] === ")") return this.#addLink(start, labelEnd, after, silent);
    }
    after = this.#referenceEnd(start, labelEnd, after);
    return after >= 0 && this.#addLink(start, labelEnd, after, silent);
  }

  #addLink(start: number, labelEnd: number, after: number, silent: boolean): boolean {
    if (!silent) {
      const [end, delimiters] = [this.#end, this.#delimiters];
      this.#at = start;
      this.#end = labelEnd;
      this.#delimiters = [];
      this.#depth += 1;
      this.#read();
      this.#depth -= 1;
      this.#end = end;
      this.#delimiters = delimiters;
    }
    this.#at = after;
    return true;
  }

  #image(silent: boolean): boolean {
    const start = this.#at + 2;
    if (this.#title[start - 1] !== "[") return false;
    const labelEnd = this.#labelEnd(start - 1, true);
    if (labelEnd < 0) return false;
    const after = this.#imageEnd(start, labelEnd);
    if (after < 0) return false;
    if (!silent) this.#pieces.push(withoutMarkup(this.#title.slice(start, labelEnd), this.#references));
    this.#at = after;
    return true;
  }

  #imageEnd(start: number, labelEnd: number): number {
    const after = labelEnd + 1;
    if (after >= this.#end || this.#title[after] !== "(") return this.#referenceEnd(start, labelEnd, after);
    const closer = inlineLinkEnd(this.#title, after, this.#end);
    return closer >= 0 && closer < this.#end && this.#title[closer] === ")" ? closer + 1 : -1;
  }

  /**
   * Returns where a link or an image ends that is a reference to a definition; -1 if it is none.
   *
   * The label that it may have is looked for at `at`.
   */
  #referenceEnd(start: number, labelEnd: number, at: number): number {
    const ownEnd = at < this.#end && this.#title[at] === "[" ? this.#labelEnd(at, true) : -1;
    const own = ownEnd < 0 ? "" : this.#title.slice(at + 1, ownEnd);
    const label = normalizedLabel(own || this.#title.slice(start, labelEnd));
    return this.#references.has(label) ? (ownEnd < 0 ? labelEnd : ownEnd) + 1 : -1;
  }

  /** Returns where the bracket is closed that is opened here; -1 if nowhere, or before a link if none may be nested. */
  #labelEnd(bracket: number, nested: boolean): number {
    const before = this.#at;
    let [level, found] = [1, -1];
    this.#at = bracket + 1;
    while (this.#at < this.#end) {
      const here = this.#at;
      if (this.#title[here] === "]") level -= 1;
      if (level === 0) {
        found = here;
        break;
      }
      this.#skip();
      if (this.#title[here] === "[") {
        if (this.#at === here + 1) level += 1;
        else if (!nested) break;
      }
    }
    this.#at = before;
    return found;
  }

  /** Moves past one markup or text, or one character. */
  #skip(): void {
    const here = this.#at;
    let end = this.#skipped.get(here);
    if (end === undefined) {
      let done = false;
      if (this.#depth < DEEPEST) {
        this.#depth += 1;
        done = this.#readOne(true);
        this.#depth -= 1;
      } else {
        this.#at = this.#end;
      }
      end = this.#at + (done ? 0 : 1);
      this.#skipped.set(here, end);
    }
    this.#at = end;
  }
}

/** Returns where the backticks end that begin here. */
function runEnd(text: string, start: number, end: number): number {
  let at = start;
  while (at < end && text[at] === "`") at += 1;
  return at;
}

function codeText(code: string): string {
  const padded = code.startsWith(" ") && code.endsWith(" ") && /[^ ]/.test(code);
  return padded ? code.slice(1, -1) : code;
}

/** Returns the character before this place, of two code units where it has them, and a space at the beginning. */
function characterBefore(text: string, at: number): string {
  const pair = text.slice(Math.max(at - 2, 0), at);
  return (pair.codePointAt(0) ?? 0) > 0xffff ? pair : pair.slice(-1) || " ";
}

/** Returns whether a run of the mark between these characters can open and can close emphasis. */
function flanksOf(mark: string, before: string, after: string): { opens: boolean; closes: boolean } {
  const [punctuationBefore, punctuationAfter] = [isPunctuation(before), isPunctuation(after)];
  const [spaceBefore, spaceAfter] = [isWhiteSpace(before), isWhiteSpace(after)];
  const left = !spaceAfter && (!punctuationAfter || spaceBefore || punctuationBefore);
  const right = !spaceBefore && (!punctuationBefore || spaceAfter || punctuationAfter);
  if (mark === "*") return { opens: left, closes: right };
  return { opens: left && (!right || punctuationBefore), closes: right && (!left || punctuationAfter) };
}
