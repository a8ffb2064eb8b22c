/** Destinations and titles of links, addresses in angle brackets, and characters written as entities. */

import { isBlank } from "./characters.js";
import { matchAt } from "./starts.js";
import { CHARACTERS, SEPARATORS } from "./tables.js";

const NESTED_PARENTHESES = 32;
const REPLACEMENT = "\ufffd";
/** Replaces the characters of an entity that are neither letters nor digits. */
const SEPARATOR = "\u00b7";

/** White space to Python's regular expressions, in brackets. */
export const SPACE = "\\t-\\r\\x1c- \\x85\\xa0\\u1680\\u2000-\\u200a\\u2028\\u2029\\u202f\\u205f\\u3000";

const ADDRESS = /^[a-zA-Z][a-zA-Z0-9+.-]{1,31}:[^<>\0- ]*$/;
const HOST = "[a-zA-Z0-9](?:[a-zA-Z0-9-]{0,61}[a-zA-Z0-9])?";
const EMAIL = new RegExp(`^[a-zA-Z0-9.!#$%&'*+/=?^_\`{|}~-]+@${HOST}(?:\\.${HOST})*$`);
const PERCENT_ENCODED = /(?:%[0-9a-fA-F]{2})+/g;
const STAYS_ENCODED = /[;/?:@&=+$,#%]/g;
const REFUSED = new RegExp(`^[${SPACE}]*(?:(?:vbscript|javascript|file):|data:(?!image/(?:gif|png|jpeg|webp);))`, "i");
const ENTITY = /&(?:#(?:[xX]([0-9a-fA-F]{1,8})|([0-9]{1,8}))|([a-zA-Z][a-zA-Z0-9]{1,31}));/;
const ENTITY_HERE = new RegExp(ENTITY, "y");
const ESCAPE_OR_ENTITY = new RegExp(`\\\\([!-/:-@[-\`{-~])|${ENTITY.source}`, "g");
const LABEL_SPACE = /[\t-\r \xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000]+/g;

const ENTITIES = new Map([
  ...words(SEPARATORS).map((name) => [name, SEPARATOR] as const),
  ...words(CHARACTERS).map((word) => {
    const [name = "", codes = ""] = word.split("=");
    return [name, String.fromCodePoint(...codes.split("+").map((code) => parseInt(code, 16)))] as const;
  }),
]);

function words(table: string): string[] {
  return table.trim().split(/\s+/);
}

/** Returns a label in the form that is compared: without regard to case, and to how much white space is where. */
export function normalizedLabel(label: string): string {
  return label.replace(LABEL_SPACE, " ").replace(/^ | $/g, "").toLowerCase().toUpperCase();
}

/** Returns where the `)` should be of a link with its `(` at `at`; -1 if nothing follows that. */
export function inlineLinkEnd(text: string, at: number, end: number): number {
  const start = afterBlanks(text, at + 1, end);
  if (start >= end) return -1;
  const destinationEnd = destinationEndAfter(text, start, end);
  if (destinationEnd < 0 || !isAllowed(destination(text.slice(start, destinationEnd)))) return start;
  const title = afterBlanks(text, destinationEnd, end);
  const titleEnd = title > destinationEnd ? titleEndAfter(text, title, end) : -1;
  return titleEnd < 0 ? title : afterBlanks(text, titleEnd, end);
}

function afterBlanks(text: string, start: number, end: number): number {
  let at = start;
  while (at < end && isBlank(text, at)) at += 1;
  return at;
}

/** Returns -1 if no destination is there. */
function destinationEndAfter(text: string, start: number, end: number): number {
  return text[start] === "<" ? anglesEnd(text, start + 1, end) : bareEnd(text, start, end);
}

function anglesEnd(text: string, start: number, end: number): number {
  for (let at = start; at < end && text[at] !== "<"; at += escapeLength(text, at, end)) {
    if (text[at] === ">") return at + 1;
  }
  return -1;
}

/** Returns 2 where a backslash and what it escapes are, else 1. */
function escapeLength(text: string, at: number, end: number): number {
  return text[at] === "\\" && at + 1 < end ? 2 : 1;
}

function bareEnd(text: string, start: number, end: number): number {
  let [at, depth] = [start, 0];
  while (at < end && text.charAt(at) > " " && text[at] !== "\x7f") {
    const length = escapeLength(text, at, end);
    if (length === 2 && text[at + 1] === " ") break;
    if (text[at] === "(") {
      depth += 1;
      if (depth > NESTED_PARENTHESES) return -1;
    } else if (text[at] === ")") {
      if (depth === 0) break;
      depth -= 1;
    }
    at += length;
  }
  return at > start && depth === 0 ? at : -1;
}

function destination(written: string): string {
  return unescaped(written.startsWith("<") ? written.slice(1, -1) : written);
}

/** Returns -1 if no title is there. */
function titleEndAfter(text: string, start: number, end: number): number {
  const opener = start < end ? text.charAt(start) : "";
  if (opener === "" || !"\"'(".includes(opener)) return -1;
  const closer = opener === "(" ? ")" : opener;
  for (let at = start + 1; at < end; at += escapeLength(text, at, end)) {
    if (text[at] === closer) return at + 1;
    if (text[at] === "(" && closer === ")") return -1;
  }
  return -1;
}

/** Whether the server's parser makes a link of this address: of a script, for example, it makes none. */
function isAllowed(address: string): boolean {
  return !REFUSED.test(address);
}

/** Returns the text of `<address>`, of a resource or a mailbox, with letters in place of `%…`; null if it is neither. */
export function addressText(address: string): string | null {
  if (!(ADDRESS.test(address) && isAllowed(address)) && !EMAIL.test(address)) return null;
  return address.replace(PERCENT_ENCODED, (encoded) => {
    const bytes = Uint8Array.from(encoded.split("%").slice(1), (byte) => parseInt(byte, 16));
    const text = new TextDecoder("utf-8", { ignoreBOM: true }).decode(bytes);
    return text.replace(STAYS_ENCODED, (char) => `%${char.charCodeAt(0).toString(16).toUpperCase()}`);
  });
}

/** Returns the text with characters in place of backslash escapes and entities. */
function unescaped(text: string): string {
  return text.replace(
    ESCAPE_OR_ENTITY,
    (literal, escaped?: string, hexadecimal?: string, decimal?: string, name?: string) =>
      escaped ?? (character(hexadecimal, decimal, name) || literal),
  );
}

/** Returns the characters that an entity means, and where it ends; null if none is there. */
export function entityAt(text: string, at: number): { text: string; end: number } | null {
  const found = matchAt(ENTITY_HERE, text, at);
  if (!found || (found[1]?.length ?? 0) > 6 || (found[2]?.length ?? 0) > 7) return null;
  const characters = character(found[1], found[2], found[3]) || (found[3] ? "" : REPLACEMENT);
  return characters ? { text: characters, end: at + found[0].length } : null;
}

/** Returns nothing for a code without a character, and for a name that is not HTML's. */
function character(hexadecimal?: string, decimal?: string, name?: string): string {
  if (name !== undefined) return ENTITIES.get(name) ?? "";
  const code = hexadecimal === undefined ? Number(decimal) : parseInt(hexadecimal, 16);
  return isCharacter(code) ? String.fromCodePoint(code) : "";
}

function isCharacter(code: number): boolean {
  if (code < 0xa0) return [0x9, 0xa, 0xc, 0xd].includes(code) || (code >= 0x20 && code < 0x7f);
  const surrogate = code >= 0xd800 && code < 0xe000;
  const never = (code >= 0xfdd0 && code < 0xfdf0) || (code & 0xfffe) === 0xfffe;
  return code <= 0x10ffff && !surrogate && !never;
}
