import type { RefundWithWork } from '../../../../shared/refunds/model/refund.ts';
import type { Context } from '../../http/access.ts';
import type { FormProblems } from '../../http/forms.ts';

/** Notices after an action, by the word in the address. */
const doneWords = {
  created: 'Refund created. This page updates automatically.',
  approved: 'Refund approved. It is being sent.',
  rejected: 'Refund rejected. It was not sent.',
  cancelled: "Refund cancelled. The customer won't get the money.",
  'cancel-asked': 'Cancellation requested. This page updates once the processor confirms it.',
  rechecked: 'Recheck requested. This page updates automatically.',
  resolved: 'Refund resolved.',
  dismissed: 'Flag dismissed.',
} as const;

export type DoneWord = keyof typeof doneWords;

/** The notice for a word in an address; null for an unknown word. */
export function doneSentence(word: string): string | null {
  return Object.hasOwn(doneWords, word) ? doneWords[word as DoneWord] : null;
}

/**
 * The result of a decision.
 * - `done`: carried out.
 * - `too-late`: the refund has changed since the page was loaded, and nothing was changed.
 * - `unfinished`: something has to be corrected or confirmed; nothing was changed.
 */
export type DecisionResult =
  | { kind: 'done'; word: DoneWord }
  | { kind: 'too-late'; message: string }
  | { kind: 'unfinished'; decision: Omit<UnfinishedDecision, 'entered'> };

/** A decision that could not be carried out as it was entered; its dialog is shown again. */
export interface UnfinishedDecision {
  dialog: 'reject' | 'resolve';
  problems: FormProblems;
  /** What was entered, by field. */
  entered: (field: string) => string;
  /** True when `force` would carry it out. */
  forceable: boolean;
}

export interface DecisionsProps {
  context: Context;
  refund: RefundWithWork;
  unfinished: UnfinishedDecision | null;
}
