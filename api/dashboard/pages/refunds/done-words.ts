/** What somebody is told who has just done something about a refund. */
export const doneWords = {
  created: 'The refund is on record, and nothing of it can get lost. This page shows how it goes on.',
  approved: 'Approved. It is sent now.',
  rejected: 'Rejected. It is cancelled and was never sent.',
  cancelled: 'Cancelled. The customer does not get this money.',
  'cancel-asked': 'The processor was asked and has not confirmed yet. This page shows it as soon as it has.',
  rechecked: 'It is read again from its processor by the next free worker.',
  resolved: 'Decided. The timeline and the audit log tell why.',
  kept: 'It stands as it is, and its flag is gone.',
} as const;

export type DoneWord = keyof typeof doneWords;

/** The sentence for a word in an address; null for any other word. */
export function doneSentence(word: string): string | null {
  return Object.hasOwn(doneWords, word) ? doneWords[word as DoneWord] : null;
}
