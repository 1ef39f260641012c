import type { Dependencies } from '../../dependencies.ts';
import { lockPaymentOf } from '../../payments/payment.ts';
import { type DatabaseTransaction, isUniqueViolation, type Refund } from '../../platform/database.ts';
import { ServiceError } from '../../platform/errors.ts';
import { lockWork } from '../lifecycle/work.ts';

/** How often a worker may write to the timeline at the same moment. */
const maxTries = 5;

/**
 * Adds to a refund in any status what may be personal data, while a worker may write to its timeline.
 * @param refusal what is refused after an erasure, such as `metadata: cannot be changed`.
 * @param change its writes, with the refund locked and as it is now. It may run several times.
 * @throws ServiceError validation_error for a refund whose personal data was erased, which must not come back.
 */
export async function changeUnerased<Result>(
  { db }: Pick<Dependencies, 'db'>,
  { id }: Pick<Refund, 'id'>,
  refusal: string,
  change: (tx: DatabaseTransaction, refund: Refund) => Promise<Result>,
): Promise<Result> {
  for (let tried = 1; ; tried += 1) {
    try {
      return await db.$transaction(async (tx) => {
        await lockPaymentOf(tx, { id });
        await lockWork(tx, { id });
        // An erasure locks this row alone.
        await tx.$queryRaw`SELECT FROM refund WHERE id = ${id} FOR NO KEY UPDATE`;
        const refund = await tx.refund.findUniqueOrThrow({ where: { id } });
        await refuseErased(tx, refund, refusal);
        return await change(tx, refund);
      });
    } catch (error) {
      // A worker that reviews a finished refund may have taken the next number of the timeline.
      if (tried === maxTries || !isUniqueViolation(error)) throw error;
    }
  }
}

async function refuseErased(
  tx: DatabaseTransaction,
  { id, organizationId }: Pick<Refund, 'id' | 'organizationId'>,
  refusal: string,
): Promise<void> {
  const erasures = await tx.auditLog.count({
    where: { organizationId, target: id, action: 'refund.erased' },
  });
  if (erasures === 0) return;
  throw new ServiceError(
    'validation_error',
    `${refusal}, because the personal data of this refund was erased.`,
  );
}
