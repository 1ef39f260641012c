import { expect } from 'vitest';
import type { Refund } from '../../shared/db.ts';
import type { MovedRefund } from '../sandbox/clients.ts';
import type { TestService } from './service.ts';

/** Processor statuses under which money did not stay moved. */
const unmoved = new Set(['failed', 'canceled', 'processor_declined', 'settlement_declined']);

/**
 * Holds our records against the processors' ledger: at most one refund moved per refund asked, completed here means
 * moved there with the same amount, failed or cancelled here means not moved, and what is reserved is the sum of the
 * live refunds.
 */
export async function expectInvariants(service: TestService): Promise<void> {
  const refunds = await service.deps.db.refund.findMany();
  const moved = (
    await Promise.all(
      ['test', 'live'].map(async (environment) => await service.sandbox.refunds({ environment })),
    )
  ).flat();
  for (const refund of refunds)
    expectOneMovement(
      refund,
      moved.filter((entry) => isOf(entry, refund, refunds)),
    );
  await expectReservations(service, refunds);
  await expectGaplessTimelines(service);
}

/**
 * A void of an unsettled sale carries no name of ours, so it is known by the payment that it ended: it is that of the
 * refund that claims it, or else of one that was sent for the whole amount.
 */
function isOf(entry: MovedRefund, refund: Refund, all: readonly Refund[]): boolean {
  // One that was made past the service, and that a person has named.
  if (entry.key === '' && entry.id === refund.externalRefundId) return true;
  if (entry.key === refund.id) return true;
  if (entry.id !== refund.transactionId) return false;
  if (refund.externalRefundId === entry.id) return true;
  const isClaimed = all.some(({ externalRefundId }) => externalRefundId === entry.id);
  return !isClaimed && refund.attemptCount > 0 && refund.amount === BigInt(entry.amount);
}

function expectOneMovement(refund: Refund, entries: MovedRefund[]): void {
  const standing = entries.filter(
    ({ status, id }) => !unmoved.has(status) && !isVoidedCredit(status, id, refund),
  );
  const told = `refund ${refund.id} (${refund.status}) against ${JSON.stringify(entries)}`;
  expect(entries.length, `at most one movement: ${told}`).toBeLessThanOrEqual(1);
  if (refund.status === 'completed') {
    expect(standing, `completed means moved: ${told}`).toHaveLength(1);
    expect(BigInt(standing[0]?.amount ?? 0), told).toBe(refund.amount);
    expect(standing[0]?.currency, told).toBe(refund.currency);
  }
  if (refund.status === 'failed' || refund.status === 'cancelled') {
    expect(standing, `${refund.status} means not moved: ${told}`).toHaveLength(0);
  }
}

function isVoidedCredit(status: string, id: string, refund: Refund): boolean {
  return status === 'voided' && id !== refund.transactionId;
}

async function expectReservations(service: TestService, refunds: Refund[]): Promise<void> {
  for (const transaction of await service.deps.db.transaction.findMany()) {
    const live = refunds.filter(
      (refund) =>
        refund.organizationId === transaction.organizationId &&
        refund.environment === transaction.environment &&
        refund.processor === transaction.processor &&
        refund.transactionId === transaction.transactionId &&
        refund.status !== 'failed' &&
        refund.status !== 'cancelled',
    );
    const sum = live.reduce((total, { amount }) => total + amount, 0n);
    expect(transaction.reserved, `reserved of ${transaction.transactionId}`).toBe(sum);
  }
}

async function expectGaplessTimelines(service: TestService): Promise<void> {
  const broken = await service.deps.db.$queryRaw<{ refund_id: string }[]>`
    SELECT refund_id FROM refund_event GROUP BY refund_id HAVING max(seq) <> count(*)`;
  expect(broken).toEqual([]);
}
