/** Classes of characters, as CommonMark divides them, and what a string's own methods would need quadratic time for. */

const ASCII_PUNCTUATION = new Set("!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~");
const WHITE_SPACE = /[\t\n\r \xa0\u1680\u2000-\u200a\u202f\u205f\u3000]/;
const PUNCTUATION = /[\p{P}\p{S}]/u;

export function isAsciiPunctuation(char: string): boolean {
  return ASCII_PUNCTUATION.has(char);
}

/** Whether the backslash at this place escapes the character after it. */
export function isEscape(text: string, at: number): boolean {
  return isAsciiPunctuation(text.charAt(at + 1));
}

export function isWhiteSpace(char: string): boolean {
  return WHITE_SPACE.test(char);
}

export function isPunctuation(char: string): boolean {
  return PUNCTUATION.test(char);
}

export function isBlank(text: string, at: number): boolean {
  const char = text[at];
  return char === " " || char === "\t";
}

/** Returns where the text ends if it is without the characters of `ending` that it ends with. */
export function textEnd(text: string, ending: string): number {
  let end = text.length;
  while (end > 0 && ending.includes(text.charAt(end - 1))) end -= 1;
  return end;
}

/** Returns the text without the blanks around it. */
export function withoutBlanks(text: string): string {
  const end = textEnd(text, " \t");
  let start = 0;
  while (start < end && isBlank(text, start)) start += 1;
  return text.slice(start, end);
}

/** Whether the text has no other characters than these. */
export function consistsOf(text: string, characters: string): boolean {
  return textEnd(text, characters) === 0;
}
