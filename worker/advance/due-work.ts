import { shareStatement } from '#shared/platform/concurrency/shared-statement.ts';

/** Work that is due, and how to do it. */
interface DueWorkSource<Claim> {
  /** How much is done at once at most. */
  places: number;
  /**
   * Claims what is due, up to a number. `isMore` says whether there may be more of it; `isWaiting`, whether more is due that cannot
   * be claimed at this moment, but before long.
   */
  claimDue(most: number): Promise<{ claims: readonly Claim[]; isMore: boolean; isWaiting: boolean }>;
  /** Does what was claimed. */
  work(claim: Claim): Promise<void>;
  /** Reports what failed, whether looking or working. */
  warn(error: unknown): void;
}

/** Keeps the places of a worker filled with what is due. */
export interface DueWork {
  /**
   * Starts what is due and has a place. A call that comes while another looks leads to another look at once.
   * @returns false when nothing more is due; true when something may be left without a place.
   * @throws when what is due cannot be claimed.
   */
  look(): Promise<boolean>;
  /** Resolves when a look finds nothing more that is due, or with the closing. */
  untilCaughtUp(): Promise<void>;
  /** Starts nothing more, and waits for what is under way. */
  close(): Promise<void>;
}

/**
 * How soon what is waiting is looked for, as the calls per second of an account allow more by then: after a claim, and after a look that
 * found nothing to claim, because the rate is low or all places of the account are taken.
 */
const waitingMs = { claimed: 100, none: 250 };

/**
 * Looks again by itself whenever a place becomes free, as long as more may be due or is waiting, and soon after a look that left
 * something waiting.
 */
export function openDueWork<Claim>({ places, claimDue, work, warn }: DueWorkSource<Claim>): DueWork {
  const underWay = new Set<Promise<void>>();
  let isMore = false;
  let isWaiting = false;
  let isClosing = false;
  let caughtUp: (() => void)[] = [];
  let nextLook: NodeJS.Timeout | undefined;

  const fill = async () => {
    while (!isClosing && underWay.size < places) {
      const found = await claimDue(places - underWay.size);
      for (const claim of found.claims) start(claim);
      ({ isMore, isWaiting } = found);
      const soonMs = found.claims.length > 0 ? waitingMs.claimed : waitingMs.none;
      if (isWaiting) nextLook ??= setTimeout(lookAgain, soonMs);
      if (!isMore) return endWaiting();
    }
    isMore = true;
  };
  const endWaiting = () => {
    const waiting = caughtUp;
    caughtUp = [];
    for (const resolve of waiting) resolve();
  };
  const look = shareStatement(async (calls: readonly true[]) => {
    await fill();
    return calls.map(() => isMore);
  });
  const lookAgain = () => {
    nextLook = undefined;
    if (!isClosing) look(true).catch(warn);
  };
  const start = (claim: Claim) => {
    const ending = work(claim)
      .catch(warn)
      .then(() => {
        underWay.delete(ending);
        if ((isMore || isWaiting) && !isClosing) look(true).catch(warn);
      });
    underWay.add(ending);
  };
  return {
    look: () => look(true),
    untilCaughtUp: async () => {
      if (isMore && !isClosing) await new Promise<void>((resolve) => caughtUp.push(resolve));
    },
    async close() {
      isClosing = true;
      clearTimeout(nextLook);
      endWaiting();
      // Comes after a look that is under way, which may still start something.
      await look(true).catch(warn);
      await Promise.all(underWay);
    },
  };
}
