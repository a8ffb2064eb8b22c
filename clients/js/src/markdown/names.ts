/**
 * Names of XML elements for the titles of a text.
 *
 * They are the server's but for letters that came to Unicode after its Python: Node 20 knows two (U+A7CB, U+A7DC) of which the
 * small letters a name can have, and which are separators on a server with Python 3.11.
 */

import { DIGITS_AND_EXTENDERS, LETTERS } from "./tables.js";

/** Returns the inside of a regular expression's `[...]` for hexadecimal code points and ranges of them. */
function characterClass(ranges: string): string {
  return ranges.trim().replace(/[0-9A-F]+/g, (code) => `\\u{${code}}`).replace(/\s+/g, "");
}

const SEPARATORS = new RegExp(`[^${characterClass(LETTERS + DIGITS_AND_EXTENDERS)}]+`, "gu");
const CANNOT_BEGIN = new RegExp(`^[${characterClass(DIGITS_AND_EXTENDERS)}]`, "u");

/**
 * Returns the title in lower case with a `-` for each run of what is no letter or digit of a legal name.
 *
 * A name that would begin with a digit gets `_` in front; a title with no such character is `section`.
 */
export function elementName(title: string): string {
  const name = title.toLowerCase().replace(SEPARATORS, "-").replace(/^-|-$/g, "") || "section";
  return CANNOT_BEGIN.test(name) ? `_${name}` : name;
}
