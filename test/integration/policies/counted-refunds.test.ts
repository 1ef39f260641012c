import { expect, test } from 'vitest';
import { readPastRefunds } from '#shared/insights/past-refunds.ts';
import { type CountedRefund, PastTotals } from '#shared/insights/past-totals.ts';
import { createRefund } from '#shared/refunds/lifecycle/create.ts';
import { newPerson } from '../../support/people.ts';
import { newPayment } from '../../support/refunds/payments.ts';
import { refundRequest } from '../../support/refunds/refund-requests.ts';
import { storePolicies } from '../../support/refunds/stored-policies.ts';
import { useService } from '../../support/use-service.ts';

const service = useService({ workers: 0 });

/** Refunds of three payments by two requesters, one every three hours of the last 36; every third is cancelled. */
async function makeRefunds(): Promise<void> {
  const { db } = service.deps;
  const { userId } = await newPerson(service.deps, service.organization.id, 'admin');
  const person = { apiKey: null, initiatedBy: 'dashboard', actor: `user:${userId}` } as const;
  const currencies = ['usd', 'eur', 'usd'];
  const payments = await Promise.all(currencies.map((currency) => newPayment(service, { currency })));
  for (let index = 0; index < 12; index += 1) {
    const currency = currencies[index % 3] ?? '';
    const by = index % 4 < 2 ? {} : person;
    const asked = refundRequest(service, payments[index % 3] ?? '', {
      ...by,
      ...{ currency, amount: BigInt(100 + index) },
    });
    const { refund } = await createRefund(service.deps, asked);
    if (index % 3 === 1 && index % 2 === 0) {
      expect((await service.call('POST', `/v1/refunds/${refund.id}/cancel`)).status).toBe(200);
    }
    await db.$executeRaw`
      UPDATE refund SET created_at = created_at - make_interval(hours => ${36 - 3 * index}) WHERE id = ${refund.id}`;
  }
}

/** As a decision or a creation counts them now. */
async function countedNow(now: Date, { paymentId, requester, currency }: CountedRefund) {
  const count = async (counted: string) => {
    const [row] = await service.deps.db.$queryRaw<{ refunds: number; amount: bigint }[]>`
      SELECT refunds, amount FROM counted_refunds(${counted}, ${now}::timestamptz, ${service.organization.id}, 'test', ${currency},
        paid_id => ${paymentId}::bigint, behind => ${requester})`;
    return row ?? { refunds: -1, amount: -1n };
  };
  const [payment, organization, ofRequester] = [
    await count('payment'),
    await count('organization'),
    await count('requester'),
  ];
  const velocityOf = ({ refunds, amount }: typeof payment) => ({
    refundsInLastDay: refunds,
    amountInLastDay: amount,
  });
  return {
    refunds: { count: payment.refunds, amount: payment.amount, lastAt: null },
    velocity: velocityOf(organization),
    requesterVelocity: velocityOf(ofRequester),
  };
}

test('a replay counts refunds by the same rule as a decision and a creation', async () => {
  await storePolicies(service, {});
  await makeRefunds();
  const owner = { organizationId: service.organization.id, environment: 'test' } as const;
  const now = new Date(Date.now() + 60_000);
  const place = { start: { id: '', createdAt: new Date(0) }, before: now, withMetadata: false };
  const totals = new PastTotals();
  const made: CountedRefund[] = [];
  for await (const page of readPastRefunds(service.deps.db, owner, place)) {
    for (const refund of page) {
      totals.add(refund);
      made.push(refund);
    }
  }
  expect(made).toHaveLength(12);
  expect(made.filter(({ endedAt }) => endedAt !== null)).toHaveLength(2);
  for (const refund of made) expect(totals.factsAt(now, refund)).toEqual(await countedNow(now, refund));
  const velocities = made.map((refund) => totals.factsAt(now, refund).velocity);
  expect(new Set(velocities.map(({ amountInLastDay }) => amountInLastDay)).size).toBe(2);
});
