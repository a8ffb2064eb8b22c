/** The share of the callers that get another version from a label, decided alike by the server and its clients. */

const BLOCK = 128;
const DIGEST = 8;

// RFC 7693, sections 2.6 and 2.7. A word of 64 bits is two numbers, the lower half first.
const IV = Uint32Array.of(
  0xf3bcc908,
  0x6a09e667,
  0x84caa73b,
  0xbb67ae85,
  0xfe94f82b,
  0x3c6ef372,
  0x5f1d36f1,
  0xa54ff53a,
  0xade682d1,
  0x510e527f,
  0x2b3e6c1f,
  0x9b05688c,
  0xfb41bd6b,
  0x1f83d9ab,
  0x137e2179,
  0x5be0cd19,
);
const SIGMA = [
  [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15],
  [14, 10, 4, 8, 9, 15, 13, 6, 1, 12, 0, 2, 11, 7, 5, 3],
  [11, 8, 12, 0, 5, 2, 15, 13, 10, 14, 3, 6, 7, 1, 9, 4],
  [7, 9, 3, 1, 13, 12, 11, 14, 2, 6, 5, 10, 4, 0, 15, 8],
  [9, 0, 5, 7, 2, 4, 10, 15, 14, 1, 11, 12, 6, 8, 3, 13],
  [2, 12, 6, 10, 0, 11, 8, 3, 4, 13, 7, 5, 15, 14, 1, 9],
  [12, 5, 1, 15, 14, 13, 4, 10, 0, 7, 6, 3, 9, 2, 8, 11],
  [13, 11, 7, 14, 12, 1, 3, 9, 5, 0, 15, 4, 8, 6, 2, 10],
  [6, 15, 14, 9, 11, 3, 0, 8, 12, 2, 13, 7, 1, 4, 10, 5],
  [10, 2, 8, 4, 7, 6, 1, 5, 15, 11, 9, 14, 3, 12, 13, 0],
];
const ROUNDS = 12;
// The words that each of the eight mixings of a round uses: columns, then diagonals.
const MIXINGS = [
  [0, 4, 8, 12],
  [1, 5, 9, 13],
  [2, 6, 10, 14],
  [3, 7, 11, 15],
  [0, 5, 10, 15],
  [1, 6, 11, 12],
  [2, 7, 8, 13],
  [3, 4, 9, 14],
] as const;

/**
 * Returns the place of a key among all keys of the labels with this name, from 0 to below 1, evenly distributed.
 *
 * A split of the share `s` gives its version to the keys below `s`. The time is linear in the key.
 */
export function position(label: string, key: string): number {
  const digest = blake2b(encode(`${label}\0${key}`));
  // The 53 bits that a number has: with more, the highest would be rounded to 1.
  return Number(new DataView(digest.buffer).getBigUint64(0) >> 11n) / 2 ** 53;
}

/** Returns the UTF-8 bytes, half a surrogate pair as the three bytes that its number has: two such keys differ. */
function encode(text: string): Uint8Array {
  if (!/\p{Surrogate}/u.test(text)) return new TextEncoder().encode(text);
  return Uint8Array.from([...text].flatMap(bytesOf));
}

function bytesOf(character: string): number[] {
  const code = character.codePointAt(0) ?? 0;
  if (code < 0xd800 || code > 0xdfff) return [...new TextEncoder().encode(character)];
  return [0xe0 | (code >> 12), 0x80 | ((code >> 6) & 0x3f), 0x80 | (code & 0x3f)];
}

/** Returns BLAKE2b with a digest of eight bytes; that of `node:crypto` has 64, and is another one. */
function blake2b(message: Uint8Array): Uint8Array {
  const state = IV.slice();
  state[0]! ^= 0x01010000 ^ DIGEST;
  const last = Math.max(0, Math.ceil(message.length / BLOCK) - 1) * BLOCK;
  for (let start = 0; start <= last; start += BLOCK) {
    const block = new Uint8Array(BLOCK);
    block.set(message.subarray(start, start + BLOCK));
    compress(state, wordsOf(block), Math.min(start + BLOCK, message.length), start === last);
  }
  const digest = new DataView(new ArrayBuffer(DIGEST));
  digest.setUint32(0, state[0]!, true);
  digest.setUint32(4, state[1]!, true);
  return new Uint8Array(digest.buffer);
}

function wordsOf(block: Uint8Array): Uint32Array {
  const view = new DataView(block.buffer);
  return Uint32Array.from({ length: BLOCK / 4 }, (_, index) => view.getUint32(index * 4, true));
}

function compress(state: Uint32Array, block: Uint32Array, length: number, isLast: boolean): void {
  const words = new Uint32Array(32);
  words.set(state);
  words.set(IV, 16);
  words[24]! ^= length;
  if (isLast) {
    words[28]! ^= 0xffffffff;
    words[29]! ^= 0xffffffff;
  }
  for (let round = 0; round < ROUNDS; round++) mixAll(words, block, SIGMA[round % SIGMA.length]!);
  for (let index = 0; index < state.length; index++) state[index]! ^= words[index]! ^ words[index + 16]!;
}

function mixAll(words: Uint32Array, block: Uint32Array, order: readonly number[]): void {
  for (let index = 0; index < MIXINGS.length; index++) {
    const [a, b, c, d] = MIXINGS[index]!;
    for (const [offset, first, second] of [
      [0, 32, 24],
      [1, 16, 63],
    ] as const) {
      add(words, a, words, b);
      add(words, a, block, order[2 * index + offset]!);
      xorAndRotate(words, d, a, first);
      add(words, c, words, d);
      xorAndRotate(words, b, c, second);
    }
  }
}

/** Adds a word of `other` to a word of `words`. */
function add(words: Uint32Array, to: number, other: Uint32Array, from: number): void {
  const low = words[2 * to]! + other[2 * from]!;
  words[2 * to + 1]! += other[2 * from + 1]! + (low > 0xffffffff ? 1 : 0);
  words[2 * to] = low;
}

function xorAndRotate(words: Uint32Array, to: number, from: number, bits: number): void {
  const low = words[2 * to]! ^ words[2 * from]!;
  const high = words[2 * to + 1]! ^ words[2 * from + 1]!;
  const [first, second] = bits < 32 ? [low, high] : [high, low];
  const shift = bits % 32;
  // A shift by 32 bits is none.
  words[2 * to] = shift ? (first >>> shift) | (second << (32 - shift)) : first;
  words[2 * to + 1] = shift ? (second >>> shift) | (first << (32 - shift)) : second;
}
