import type { Session } from '../console/session.ts';

/** What a check found of one thing; `wrong` is what stops refunds or people, a `warning` what may. */
export interface Finding {
  state: 'right' | 'warning' | 'wrong';
  /** What was checked. */
  subject: string;
  /** What was found, and what to do. */
  words: string;
}

/** Checks one thing of the installation. It never throws what it looks for. */
export type Check = (session: Session) => Promise<Finding[]>;

/** Makes findings about one subject. */
export function about(subject: string) {
  const finding = (state: Finding['state']) => (words: string) => ({ state, subject, words });
  return { right: finding('right'), warning: finding('warning'), wrong: finding('wrong') };
}
