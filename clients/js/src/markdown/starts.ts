/** What a line's text, after its indentation, is the start of. */

import { consistsOf, textEnd } from "./characters.js";

// The names of HTML's blocks, from the CommonMark specification (0.31, section 4.6, start condition 6).
const BLOCK_TAGS = `
  address article aside base basefont blockquote body caption center col colgroup dd details dialog dir div dl dt
  fieldset figcaption figure footer form frame frameset h1 h2 h3 h4 h5 h6 head header hr html iframe legend li link
  main menu menuitem nav noframes ol optgroup option p param search section summary table tbody td tfoot th thead
  title tr track ul
`;
const ATTRIBUTE = String.raw`[a-z_:][a-z0-9_.:-]*(?:[ \t]*=[ \t]*(?:"[^"]*"|'[^']*'|[^ \t'"=<>${"`"}][^ '"=<>${"`"}]*(?=[ >])))?`;

const ATX = /(#{1,6})(?![^ \t])/y;
const FENCE = /`{3,}(?=[^`]*$)|~{3,}/y;
const ITEM = /(?:[*+-]|([0-9]{1,9})[.)])(?![^ \t])/y;
const HTML_UNTIL: readonly (readonly [RegExp, string])[] = [
  [/<pre(?![^ \t>])/iy, "</pre>"],
  [/<style(?![^ \t>])/iy, "</style>"],
  [/<script(?![^ \t>])/iy, "</script>"],
  [/<textarea(?![^ \t>])/iy, "</textarea>"],
  [/<!--/y, "-->"],
  [/<\?/y, "?>"],
  [/<!\[CDATA\[/y, "]]>"],
  [/<![a-z]/iy, ">"],
];
const HTML_BLOCK = new RegExp(`</?(?:${BLOCK_TAGS.trim().split(/\s+/).join("|")})(?=[ \\t>]|/>|$)`, "iy");
const HTML_TAG = new RegExp(
  `<(?:[a-z][a-z0-9-]*(?:[ \\t]+${ATTRIBUTE})*[ \\t]*/?|/[a-z][a-z0-9-]*[ \\t]*)>[ \\t]*$`,
  "iy",
);

/** Returns the match of a sticky expression at this place. */
export function matchAt(expression: RegExp, text: string, at = 0): RegExpExecArray | null {
  expression.lastIndex = at;
  return expression.exec(text);
}

/** Returns 1 to 6 for an ATX heading, else 0. */
export function headingLevel(text: string): number {
  return matchAt(ATX, text)?.[0].length ?? 0;
}

/** Returns the marks of the code fence that the text opens; none if it opens none. */
export function fence(text: string): string {
  return matchAt(FENCE, text)?.[0] ?? "";
}

export function isClosingFence(text: string, opening: string): boolean {
  const end = textEnd(text, " ");
  return end >= opening.length && consistsOf(text.slice(0, end), opening.charAt(0));
}

export function isThematicBreak(text: string): boolean {
  const mark = text.charAt(0);
  if (mark === "" || !"*-_".includes(mark) || !consistsOf(text, `${mark} \t`)) return false;
  const second = text.indexOf(mark, 1);
  return second > 0 && text.includes(mark, second + 1);
}

/** Finds the thematic breaks at any place of a line, in time linear in the line for all of them. */
export class ThematicBreaks {
  readonly #line: string;
  readonly #begins = new Map<string, number>();

  constructor(line: string) {
    this.#line = line;
  }

  /** Whether the line is a thematic break from there on. */
  areAt(at: number): boolean {
    const mark = this.#line.charAt(at);
    let begin = this.#begins.get(mark);
    if (begin === undefined) {
      begin = textEnd(this.#line, `${mark} \t`);
      this.#begins.set(mark, begin);
    }
    return begin <= at && isThematicBreak(this.#line.slice(at));
  }
}

/** Returns the mark of a list's item that is at this place; none if there is none. */
export function itemMark(line: string, at: number): string {
  return matchAt(ITEM, line, at)?.[0] ?? "";
}

/** Returns what ends the block of HTML that the text begins; nothing if it begins none, or a blank line ends it. */
export function htmlEnd(text: string): string {
  return HTML_UNTIL.find(([start]) => matchAt(start, text))?.[1] ?? "";
}

export function isHtmlBlock(text: string): boolean {
  return matchAt(HTML_BLOCK, text) !== null;
}

/** Whether the text is a complete tag, which begins a block that interrupts no paragraph. */
export function isHtmlTag(text: string): boolean {
  return matchAt(HTML_TAG, text) !== null;
}

/** Whether the text begins another block; `lazily` where it lacks markers of the paragraph's containers. */
export function interruptsParagraph(text: string, lazily: boolean): boolean {
  switch (text.charAt(0)) {
    case "<":
      return htmlEnd(text) !== "" || isHtmlBlock(text);
    case "#":
      return headingLevel(text) > 0;
    case "`":
    case "~":
      return fence(text) !== "";
    case ">":
      return true;
    default:
      return isThematicBreak(text) || itemInterrupts(text, lazily);
  }
}

function itemInterrupts(text: string, lazily: boolean): boolean {
  const item = matchAt(ITEM, text);
  if (!item) return false;
  return lazily || (Number(item[1] ?? 1) === 1 && !consistsOf(text.slice(item[0].length), " \t"));
}
