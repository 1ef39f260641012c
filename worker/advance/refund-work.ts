import type { Dependencies } from '#shared/dependencies.ts';
import { warnSparingly } from '#shared/platform/log.ts';
import { claimDueRefunds } from '#shared/refunds/lifecycle/claim.ts';
import { type DueWork, openDueWork } from '../schedule/due-work.ts';
import { advanceRefund } from './advance-refund.ts';

/**
 * Advances the refunds of a processor that are due. Only the database says what is due, so an emptied or unreachable queue delays
 * a refund and never loses it.
 */
export function openRefundWork(deps: Dependencies, processor: string): DueWork {
  return openDueWork({
    places: deps.settings.WORKER_CONCURRENCY,
    claimDue: async (most) =>
      deps.settings.RESTORED
        ? { claims: [], isMore: false, isWaiting: false }
        : await claimDueRefunds(deps, processor, most),
    work: (claim) => advanceRefund(deps, claim),
    warn: warnSparingly(
      deps.log.child({ processor }),
      'refunds could not be advanced; they are claimed again once they are due and their leases have ended',
    ),
  });
}
