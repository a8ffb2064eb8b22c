/**
 * The block structure of a text: its top-level ATX headings, its code fences, its link reference definitions.
 *
 * It is that of the parser pulldown-cmark, which the server uses, down to where that parser departs from CommonMark.
 */

import { type Container, continues, type Item, itemAt, type Quote } from "./containers.js";
import { Cursor } from "./cursor.js";
import { labelsIn } from "./definitions.js";
import * as starts from "./starts.js";

export const FENCED = -1;

/** The text has more lines, list items and quotes than may be looked at. */
export class TooManyBlocks extends Error {}

export interface Structure {
  /** For each line 1 to 6 where it is a top-level heading, FENCED in a code fence, else 0. */
  readonly kinds: readonly number[];
  /** Those of the link reference definitions, as written. */
  readonly labels: readonly string[];
}

/** Needs time linear in the text; throws `TooManyBlocks` for more lines, items and quotes than `most`. */
export function scan(lines: readonly string[], most: number): Structure {
  const scanner = new Scanner(lines, most);
  for (let at = 0; at < lines.length; ) at = scanner.block(at);
  return scanner;
}

/** The containers that are open at a line; `block` reads one block of them. */
class Scanner implements Structure {
  readonly kinds: number[];
  readonly labels: string[] = [];
  readonly #lines: readonly string[];
  readonly #most: number;
  #steps = 0;
  readonly #open: Container[] = [];
  readonly #openQuotes: number[] = []; // where they are in #open
  #nested = 0; // how many of #open are quotes or items
  #afterEmptyItem = false;
  #afterBlank = false;

  constructor(lines: readonly string[], most: number) {
    this.kinds = lines.map(() => 0);
    this.#lines = lines;
    this.#most = most;
    this.#spend(lines.length);
  }

  #spend(steps: number): void {
    this.#steps += steps;
    if (this.#steps > this.#most) throw new TooManyBlocks();
  }

  /** Reads the block that begins at this line; returns the line after it. */
  block(at: number): number {
    const cursor = new Cursor(this.#line(at));
    this.#closeAllBut(this.#continued(cursor));
    if (this.#openNew(cursor)) return at + 1;
    if (cursor.atBlanksAlone) {
      this.#seeBlankLine();
      return at + 1;
    }
    const indent = cursor.skip(4);
    this.#finishList();
    return indent === 4 ? this.#indentedCode(at + 1) : this.#leaf(at, indent, cursor.rest);
  }

  #leaf(at: number, indent: number, text: string): number {
    if (text.startsWith("<")) {
      const end = starts.htmlEnd(text);
      if (end) return this.#htmlUntil(end, at, text);
      if (starts.isHtmlBlock(text) || starts.isHtmlTag(text)) return this.#htmlUntilBlank(at + 1);
    }
    if (starts.isThematicBreak(text)) return at + 1;
    const level = starts.headingLevel(text);
    if (level > 0) {
      this.kinds[at] = this.#nested > 0 ? 0 : level;
      return at + 1;
    }
    const opening = starts.fence(text);
    return opening ? this.#fencedCode(at, indent, opening) : this.#paragraph(at, text);
  }

  #line(at: number): string {
    return this.#lines[at] ?? "";
  }

  // Containers.

  /** Skips the markers and the indentation of open containers; returns how many of them the line continues. */
  #continued(cursor: Cursor): number {
    for (const [index, container] of this.#open.entries()) {
      if (cursor.atEnd) return this.#nextQuote(index);
      const restore = cursor.save();
      if (!continues(container, cursor)) {
        restore();
        return index;
      }
    }
    return this.#open.length;
  }

  /** Returns the first open quote from this container on: an empty line continues lists, and no quote. */
  #nextQuote(index: number): number {
    let [low, high] = [0, this.#openQuotes.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      if ((this.#openQuotes[middle] ?? 0) < index) low = middle + 1;
      else high = middle;
    }
    return this.#openQuotes[low] ?? this.#open.length;
  }

  #closeAllBut(count: number): void {
    while (this.#open.length > count) this.#close();
  }

  #close(): void {
    const container = this.#open.pop();
    if (container?.type !== "list") this.#nested -= 1;
    else if (container.tight) this.#afterEmptyItem = false;
    if (container?.type === "quote") this.#openQuotes.pop();
  }

  #push(container: Quote | Item): void {
    this.#spend(1);
    if (container.type === "quote") this.#openQuotes.push(this.#open.length);
    this.#open.push(container);
    this.#nested += 1;
  }

  /** Opens the containers of the markers that follow; returns whether the last is an item with nothing after its mark. */
  #openNew(cursor: Cursor): boolean {
    const breaks = new starts.ThematicBreaks(cursor.line);
    for (;;) {
      const restore = cursor.save();
      const indent = cursor.skip(4);
      const item = indent < 4 ? itemAt(cursor, indent, breaks) : null;
      if (item) {
        this.#continueList(item.mark);
        this.#push({ type: "item", indent: item.indent });
        if (cursor.atBlanksAlone) {
          this.#afterEmptyItem = true;
          return true;
        }
      } else if (indent < 4 && cursor.skipQuoteMark()) {
        this.#finishList();
        this.#push({ type: "quote" });
      } else {
        restore();
        return false;
      }
    }
  }

  #seeBlankLine(): void {
    const top = this.#open.at(-1);
    if (top?.type === "quote") return;
    this.#afterBlank = true;
    // It can hold nothing more, so nothing is indented for it.
    if (top?.type === "item" && this.#afterEmptyItem) top.indent = 0;
  }

  /** Closes the list after its last item: another block begins. */
  #finishList(): void {
    this.#finishEmptyItem();
    if (this.#open.at(-1)?.type === "list") this.#close();
    if (this.#afterBlank) {
      const outer = this.#open.at(-2);
      if (outer?.type === "list") outer.tight = false;
      this.#afterBlank = false;
    }
  }

  /** Closes an item that began with two blank lines. */
  #finishEmptyItem(): void {
    if (this.#afterEmptyItem && this.#afterBlank && this.#open.at(-1)?.type === "item") this.#close();
    this.#afterEmptyItem = false;
  }

  #continueList(mark: string): void {
    this.#finishEmptyItem();
    const top = this.#open.at(-1);
    if (top?.type === "list" && top.mark === mark) {
      top.tight &&= !this.#afterBlank;
    } else {
      if (top) this.#finishList();
      this.#open.push({ type: "list", mark, tight: true });
    }
    this.#afterBlank = false;
  }

  // What is in them. Each gets the number of a line and returns that of the line after the block.

  /** Returns the line's cursor after the markers of all open containers; null if it lacks one, or there is no line. */
  #continuedInFull(at: number): Cursor | null {
    if (at >= this.#lines.length) return null;
    const cursor = new Cursor(this.#line(at));
    return this.#continued(cursor) === this.#open.length ? cursor : null;
  }

  #indentedCode(first: number): number {
    this.#afterBlank = false;
    for (let at = first; ; at += 1) {
      const cursor = this.#continuedInFull(at);
      if (!cursor || (cursor.skip(4) < 4 && !cursor.atEnd)) return at;
      this.#afterBlank = cursor.atBlanksAlone;
    }
  }

  #fencedCode(first: number, indent: number, opening: string): number {
    let at = first + 1;
    for (let closed = false; !closed; at += 1) {
      const cursor = this.#continuedInFull(at);
      if (!cursor) break;
      cursor.skip(indent);
      closed = cursor.skip(4 - indent) < 4 - indent && starts.isClosingFence(cursor.rest, opening);
    }
    this.kinds.fill(FENCED, first, at);
    return at;
  }

  #htmlUntil(end: string, first: number, opening: string): number {
    let text = opening;
    for (let at = first + 1; ; at += 1) {
      const cursor = this.#continuedInFull(at);
      if (!cursor || text.includes(end)) return at;
      text = cursor.rest;
    }
  }

  #htmlUntilBlank(first: number): number {
    for (let at = first; ; at += 1) {
      if (this.#continuedInFull(at)?.atBlanksAlone ?? true) return at;
    }
  }

  #paragraph(first: number, text: string): number {
    const lines = [text];
    let at = first + 1;
    for (; at < this.#lines.length; at += 1) {
      const more = this.#continuation(this.#line(at));
      if (more === null) break;
      lines.push(more);
    }
    if (text.startsWith("[")) for (const label of labelsIn(lines.join("\n"))) this.labels.push(label);
    return at;
  }

  /** Returns what a line adds to the paragraph before it; null if it does not continue the paragraph. */
  #continuation(line: string): string | null {
    const cursor = new Cursor(line);
    const lazily = this.#continued(cursor) < this.#open.length;
    if (cursor.atBlanksAlone) return null;
    if (cursor.skip(4) < 4 && starts.interruptsParagraph(cursor.rest, lazily)) return null;
    while (cursor.skip(4) > 0);
    return cursor.rest;
  }
}
