/** Link reference definitions: `[label]: destination "title"` at the beginning of a paragraph. */

import { consistsOf, isEscape } from "./characters.js";
import { matchAt } from "./starts.js";

const LONGEST_LABEL = 1_000; // of blanks, escapes and bytes that are not ASCII: the server's parser counts no others
const NESTED_PARENTHESES = 33;

const IN_LABEL = /[[\]\\]/g;
const IN_ANGLES = /[<>\n\\]/g;
const DESTINATION_END = /[\0- ]|$/g;
const IN_DESTINATION = /\\[!-/:-@[-`{-~]|[()]/g;
const IN_TITLE = new Map([
  ['"', /["\\]/g],
  ["'", /['\\]/g],
  ["(", /[()\\]/g],
]);
const SPACE = /[ \t]*(\n?)[ \t]*/y;
const LINE_END = /[ \t]*(?:\n|$)/y;

/** Yields the labels that the paragraph defines, in time linear in it. None of its lines is blank or begins with one. */
export function* labelsIn(paragraph: string): Generator<string> {
  let found = definitionAt(paragraph, 0);
  while (found) {
    yield found.label;
    found = definitionAt(paragraph, found.end);
  }
}

/** Returns the label of the definition at this place, and where the line after the definition begins. */
function definitionAt(text: string, at: number): { label: string; end: number } | null {
  if (text[at] !== "[") return null;
  const labelEnd = labelEndAfter(text, at + 1);
  if (labelEnd < 0 || text[labelEnd + 1] !== ":") return null;
  const destination = afterSpace(text, labelEnd + 2);
  const destinationEnd = destination < 0 ? -1 : destinationEndAfter(text, destination);
  if (destinationEnd <= destination) return null;
  const end = definitionEnd(text, destinationEnd);
  return end < 0 ? null : { label: text.slice(at + 1, labelEnd), end };
}

/** Returns where the bracket is that closes a label; -1 if nothing does, or there is too much or nothing in it. */
function labelEndAfter(text: string, start: number): number {
  let escapes = 0;
  let found = matchAt(IN_LABEL, text, start);
  while (found?.[0] === "\\") {
    const escaped = Number(isEscape(text, found.index));
    escapes += escaped;
    found = matchAt(IN_LABEL, text, found.index + 1 + escaped);
  }
  if (found?.[0] !== "]") return -1;
  const label = text.slice(start, found.index);
  return !consistsOf(label, " \t\n") && cost(label, escapes) < LONGEST_LABEL ? found.index : -1;
}

function cost(label: string, escapes: number): number {
  const blanks = label.match(/[ \t\n]/g)?.length ?? 0;
  const others = label.match(/[^\0-\x7f]+/g)?.join("") ?? "";
  return 2 * escapes + blanks + new TextEncoder().encode(others).length;
}

/** Returns where the text goes on after blanks with at most one line's end; -1 if it ends there. */
function afterSpace(text: string, at: number): number {
  const end = at + (matchAt(SPACE, text, at)?.[0].length ?? 0);
  return end < text.length ? end : -1;
}

/** Returns -1 if no destination is there; `start` if it is an empty one. */
function destinationEndAfter(text: string, start: number): number {
  if (text[start] === "<") return anglesEnd(text, start + 1);
  const end = matchAt(DESTINATION_END, text, start)?.index ?? text.length;
  let depth = 0;
  for (const mark of text.slice(start, end).matchAll(IN_DESTINATION)) {
    if (mark[0] === "(") {
      depth += 1;
      if (depth > NESTED_PARENTHESES) return -1;
    } else if (mark[0] === ")") {
      if (depth === 0) return start + mark.index;
      depth -= 1;
    }
  }
  return depth > 0 ? -1 : end;
}

function anglesEnd(text: string, start: number): number {
  let found = matchAt(IN_ANGLES, text, start);
  while (found?.[0] === "\\") {
    found = matchAt(IN_ANGLES, text, found.index + 1 + Number(isEscape(text, found.index)));
  }
  return found?.[0] === ">" ? found.index + 1 : -1;
}

/** Returns where the line after a definition begins, with the destination that ends here; -1 if it is no definition. */
function definitionEnd(text: string, at: number): number {
  const [space, newLine] = matchAt(SPACE, text, at) ?? ["", ""];
  const start = at + space.length;
  if (start === text.length) return start;
  if (space === "") return -1;
  const titleEnd = titleEndAfter(text, start);
  const after = titleEnd < 0 ? null : matchAt(LINE_END, text, titleEnd);
  if (after) return titleEnd + after[0].length;
  return newLine ? text.indexOf("\n", at) + 1 : -1;
}

/** Returns where a title ends that is in quotes or parentheses; -1 if none does. */
function titleEndAfter(text: string, at: number): number {
  const inTitle = IN_TITLE.get(text.charAt(at));
  let found = inTitle && matchAt(inTitle, text, at + 1);
  while (inTitle && found?.[0] === "\\") {
    found = matchAt(inTitle, text, found.index + (text[found.index + 1] === "\n" ? 1 : 2));
  }
  return found && found[0] !== "(" ? found.index + 1 : -1;
}
