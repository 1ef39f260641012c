import { writeAudit } from '../../platform/audit-log.ts';
import type { Refund } from '../../platform/database.ts';
import type { RefundDependencies } from '../lifecycle/dependencies.ts';
import { requestResync } from '../lifecycle/resync.ts';

/**
 * Has a worker read a refund again from its processor now, whatever its status: for a person who has mended the cause of
 * a flag, or who does not believe what is on record.
 * @returns false for a refund that waits for approval: it has never been at the processor.
 */
export async function recheckRefund(
  deps: RefundDependencies,
  refund: Refund,
  actor: string,
): Promise<boolean> {
  const { id, organizationId } = refund;
  const requested = await deps.db.$transaction(async (tx) => {
    if (!(await requestResync(tx, refund))) return false;
    const entry = { organizationId, actor, action: 'refund.rechecked', target: id } as const;
    await writeAudit(tx, entry, deps.clock.now());
    return true;
  });
  if (requested) deps.queues.enqueue(refund);
  return requested;
}
