/** The text of a prompt's file, for programs that read their instruction from it. */

import { readFileSync } from "node:fs";

/** Returns the text of a file in UTF-8 without the front matter that `reprise prompts` writes above it. */
export function promptText(path: string | URL): string {
  const text = readFileSync(path, "utf8").replace(/^\uFEFF/, "").replaceAll(/\r\n?/g, "\n");
  const opening = /^---[ \t]*\n/.exec(text)?.[0].length;
  if (opening === undefined) return text;
  const closing = /^---[ \t]*(?:\n|$)/m.exec(text.slice(opening));
  return closing ? text.slice(opening + closing.index + closing[0].length) : text;
}
