import type { Database, Refund } from '../../shared/db.ts';
import { formatAmount } from '../../shared/money.ts';
import { findOrganization } from '../../shared/organizations/find-organization.ts';
import { toPublicRefund } from '../../shared/refunds/refund.ts';
import { explain, printJson, printTable } from './output.ts';

/** Lists the refunds that do not go on, or not well, without a person; the oldest first. */
export async function listAttention(
  db: Database,
  organizationId: string | undefined,
  json: boolean,
): Promise<void> {
  if (organizationId !== undefined) await findOrganization(db, organizationId);
  const refunds = await db.refund.findMany({
    where: {
      ...(organizationId === undefined ? {} : { organizationId }),
      OR: [{ status: 'pending' }, { flaggedAt: { not: null } }],
    },
    orderBy: [{ createdAt: 'asc' }, { id: 'asc' }],
  });
  if (json) return printJson(refunds.map(toJson));
  if (refunds.length === 0) return explain('No refund needs a person.');
  printTable(
    ['ID', 'ORGANIZATION', 'ENVIRONMENT', 'STATUS', 'AMOUNT', 'PROCESSOR', 'SINCE', 'WHY'],
    refunds.map((refund) => [
      refund.id,
      refund.organizationId,
      refund.environment,
      refund.status,
      formatAmount(refund.amount, refund.currency),
      refund.processor,
      sinceOf(refund),
      whyOf(refund),
    ]),
  );
}

function toJson(refund: Refund) {
  return {
    refund: toPublicRefund(refund),
    environment: refund.environment,
    since: sinceOf(refund),
    why: whyOf(refund),
  };
}

function sinceOf({ flaggedAt, createdAt }: Refund): Date {
  return flaggedAt ?? createdAt;
}

function whyOf({ status, flagReason }: Refund): string {
  return status === 'pending' ? 'It waits for approval.' : (flagReason ?? 'It was flagged.');
}
