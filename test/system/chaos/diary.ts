import type { PlannedCreation } from './orders.ts';

/** What a client was told; everything is null that an answer did not carry. */
export interface Told {
  /** Null when the connection was broken, refused, or given up after a while. */
  httpStatus: number | null;
  errorCode: string | null;
  refundId: string | null;
  refundStatus: string | null;
}

/** One refund as its client saw it. */
export interface Page {
  creation: PlannedCreation;
  /** In the order in which they came, of all repetitions and copies. */
  creationAnswers: Told[];
  cancelAnswers: Told[];
  readAnswers: Told[];
  /** From the first time a request was sent to its last answer, for the request that took longest. */
  longestWaitMs: number;
  /** True once there is nothing that the client would send again. */
  isConcluded: boolean;
}

/** Everything that clients sent and were told. */
export class Diary {
  readonly pages: Page[] = [];

  open(creation: PlannedCreation): Page {
    const page: Page = {
      creation,
      creationAnswers: [],
      cancelAnswers: [],
      readAnswers: [],
      longestWaitMs: 0,
      isConcluded: false,
    };
    this.pages.push(page);
    return page;
  }

  /** How many refunds were accepted, as far as their clients know. */
  get acceptedCount(): number {
    return this.pages.filter((page) => acceptedIdOf(page) !== null).length;
  }
}

/** The refund that a client was told of; null while it was told of none. */
export function acceptedIdOf({ creationAnswers }: Page): string | null {
  return creationAnswers.find(({ httpStatus }) => httpStatus === 200)?.refundId ?? null;
}
