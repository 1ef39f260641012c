import { ZxcvbnFactory } from '@zxcvbn-ts/core';
import { adjacencyGraphs, dictionary } from '@zxcvbn-ts/language-common';

// Apart from passwords.ts, so that the lists are loaded only when a password is set.

/** zxcvbn with its lists of 50,000 common passwords and 8,000 words, and the neighbors on keyboards. */
const estimator = new ZxcvbnFactory({ dictionary, graphs: adjacencyGraphs });

/** Guessing takes longer than linear time; a password whose beginning is hard to guess is hard to guess. */
const checkedLength = 40;

/** From 0 to 4; from this on, a password takes more than 10^8 guesses. */
const acceptedScore = 3;

/**
 * Whether a password falls to a list of common passwords, to repetitions, sequences or keyboard patterns, or to variations
 * of these or of the given names.
 */
export function isEasyToGuess(password: string, names: readonly string[]): boolean {
  return estimator.check(password.slice(0, checkedLength), [...names]).score < acceptedScore;
}
