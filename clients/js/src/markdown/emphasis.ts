/** Emphasis: which `*` and `_` are markup. */

/** One `*` or `_` of a run of them; `run` is where the run begins, `piece` the index of the character's piece. */
export interface Delimiter {
  readonly mark: string;
  readonly run: number;
  readonly runLength: number;
  readonly opens: boolean;
  readonly closes: boolean;
  readonly piece: number;
}

/** Returns the pieces that are markup, by CommonMark's rules of emphasis; needs time quadratic in the delimiters. */
export function paired(delimiters: readonly Delimiter[]): number[] {
  const openers: Delimiter[] = [];
  const pieces: number[] = [];
  for (const closer of delimiters) {
    const opener = closer.closes ? openers.findLast((each) => matches(each, closer)) : undefined;
    if (opener) {
      pieces.push(opener.piece, closer.piece);
      openers.length = openers.lastIndexOf(opener);
    } else if (closer.opens) {
      openers.push(closer);
    }
  }
  return pieces;
}

function matches(opener: Delimiter, closer: Delimiter): boolean {
  return opener.mark === closer.mark && opener.run !== closer.run && !isOdd(opener, closer);
}

/** Whether the rule of three forbids the pair. */
function isOdd(opener: Delimiter, closer: Delimiter): boolean {
  const sum = opener.runLength + closer.runLength;
  const bothWays = opener.closes || closer.opens;
  return bothWays && sum % 3 === 0 && (opener.runLength % 3 > 0 || closer.runLength % 3 > 0);
}
