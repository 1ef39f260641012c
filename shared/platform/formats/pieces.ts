import { setImmediate } from 'node:timers/promises';

/** A computation that may take long. It yields often enough that a piece takes a few milliseconds. */
export type Pieces<Result> = Generator<undefined, Result, undefined>;

/** Steps of a piece, each of which takes about a microsecond. Those of most requests are fewer. */
const stepsOfPiece = 5_000;

/** True after each piece, for a computation that counts its steps. */
export function endsPiece(steps: number): boolean {
  return steps % stepsOfPiece === 0;
}

/** Computes at once. For what is known to be small. */
export function atOnce<Result>(pieces: Pieces<Result>): Result {
  for (;;) {
    const { done, value } = pieces.next();
    if (done) return value;
  }
}

/** Computes a piece at a time. Other requests go on in between. */
export async function inPieces<Result>(pieces: Pieces<Result>): Promise<Result> {
  for (;;) {
    const { done, value } = pieces.next();
    if (done) return value;
    await setImmediate();
  }
}
