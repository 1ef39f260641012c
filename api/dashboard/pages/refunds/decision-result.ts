import type { DoneWord } from './done-words.ts';
import type { UnfinishedDecision } from './unfinished-decision.tsx';

/**
 * What became of a decision.
 * - `done`: carried out.
 * - `too-late`: the refund is not any more what it was on the page, and nothing was changed.
 * - `unfinished`: something has to be mended or confirmed first; nothing was changed.
 */
export type DecisionResult =
  | { kind: 'done'; word: DoneWord }
  | { kind: 'too-late'; message: string }
  | { kind: 'unfinished'; decision: Omit<UnfinishedDecision, 'entered'> };
