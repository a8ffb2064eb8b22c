/** A position in the indentation and the markers that a line begins with. */

import { isBlank, textEnd } from "./characters.js";

const TAB_STOP = 4;

/** Reads a line's blanks by columns: a tab reaches to the next tab stop, and a part of it can be read. */
export class Cursor {
  at = 0;
  readonly line: string;
  readonly #textEnd: number;
  #tabEnd = 0;
  #columnsLeft = 0;

  constructor(line: string) {
    this.line = line;
    this.#textEnd = textEnd(line, " \t");
  }

  /** Returns a function that moves the cursor back to where it is now. */
  save(): () => void {
    const [at, tabEnd, columnsLeft] = [this.at, this.#tabEnd, this.#columnsLeft];
    return () => {
      this.at = at;
      this.#tabEnd = tabEnd;
      this.#columnsLeft = columnsLeft;
    };
  }

  /** Skips at most so many columns of blanks; returns how many were there. */
  skip(columns: number): number {
    let missing = columns - this.#takeFromTab(columns);
    while (missing > 0 && isBlank(this.line, this.at)) {
      if (this.line[this.at] === " ") {
        this.at += 1;
        missing -= 1;
      } else {
        this.#columnsLeft = TAB_STOP - ((this.at - this.#tabEnd) % TAB_STOP);
        this.at += 1;
        this.#tabEnd = this.at;
        missing -= this.#takeFromTab(missing);
      }
    }
    return columns - missing;
  }

  #takeFromTab(columns: number): number {
    const taken = Math.min(columns, this.#columnsLeft);
    this.#columnsLeft -= taken;
    return taken;
  }

  /** Skips `>` and a blank after it; returns whether it was there. */
  skipQuoteMark(): boolean {
    if (this.line[this.at] !== ">") return false;
    this.at += 1;
    this.skip(1);
    return true;
  }

  get atEnd(): boolean {
    return this.at >= this.line.length;
  }

  get rest(): string {
    return this.line.slice(this.at);
  }

  /** Whether no more than blanks follow. */
  get atBlanksAlone(): boolean {
    return this.at >= this.#textEnd;
  }
}
