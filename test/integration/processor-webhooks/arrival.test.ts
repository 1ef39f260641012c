import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { arrivalOf } from '#shared/refunds/model/arrival.ts';
import type { ProcessorName } from '../../sandbox/processors.ts';
import { useWebhooks } from '../../support/processors/webhooks.ts';
import { advanceRefund } from '../../support/refunds/advance-refund.ts';
import { expectInvariants } from '../../support/refunds/invariants.ts';
import { newRefund } from '../../support/refunds/new-refund.ts';
import { lastEventOf, makeDue, type RefundRecord, rowOf } from '../../support/refunds/refund-records.ts';
import { useService } from '../../support/use-service.ts';
import { waitFor } from '../../support/wait-for.ts';

// The bank's reference of a refund, which processors learn when it settles or later. Steps are taken here, not by workers.

const service = useService({ workers: 0 });
const webhooks = useWebhooks(service);
beforeEach(() => service.sandbox.settings({ autoSettleMs: null }));
afterEach(async () => {
  vi.restoreAllMocks();
  await webhooks.disconnectSandbox();
  await expectInvariants(service);
});

async function accepted(processor: ProcessorName): Promise<RefundRecord> {
  const { id } = await newRefund(service, { processor });
  await advanceRefund(service.deps, id);
  return await rowOf(service, id);
}

async function settle({ id, externalRefundId }: RefundRecord, status: string, bankReference?: string) {
  const more = bankReference === undefined ? {} : { bankReference };
  await service.sandbox.driveRefund(externalRefundId ?? '', { status, ...more });
  await makeDue(service, id);
  await advanceRefund(service.deps, id);
}

const arrival = async ({ id }: RefundRecord) =>
  (await service.call('GET', `/v1/refunds/${id}?include=arrival`)).body.data.arrival;
const known = (reference: string) => ({
  ...{ kind: 'credit', reference, referenceType: 'acquirer_reference_number' },
});

describe.each([
  ['stripe', 'succeeded'],
  ['braintree', 'settled'],
] as const)('at %s', (processor, done) => {
  test('the reference is stored by the read that completes the refund', async () => {
    const refund = await accepted(processor);
    expect(await arrival(refund)).toMatchObject({ reference: null, referenceType: null });
    await settle(refund, done, '74537604221222132710572');
    const completed = await rowOf(service, refund.id);
    expect([completed.status, completed.arrival]).toEqual(['completed', known('74537604221222132710572')]);
    expect(await arrival(refund)).toEqual({
      ...arrivalOf(completed, null),
      ...known('74537604221222132710572'),
    });
  });

  test('one that cannot be stored is left out, and the refund completes', async () => {
    const refund = await accepted(processor);
    await settle(refund, done, 'x'.repeat(256));
    const { status, arrival: stored } = await rowOf(service, refund.id);
    expect([status, (stored as { reference?: string } | null)?.reference ?? null]).toEqual([
      'completed',
      null,
    ]);
  });
});

test('an event with a new reference leads to one read, which stores it; the same event to none', async () => {
  const refund = await accepted('stripe');
  await settle(refund, 'succeeded');
  const { updatedAt } = await rowOf(service, refund.id);
  const woken = vi.spyOn(service.deps.queues, 'wake');
  await webhooks.connectSandbox();
  await service.sandbox.driveRefund(refund.externalRefundId ?? '', {
    status: 'succeeded',
    bankReference: 'ARN1',
  });
  await waitFor('the event', () => woken.mock.calls.length > 0);
  expect(await arrival(refund)).toMatchObject({ reference: null });
  await advanceRefund(service.deps, refund.id);
  expect(await arrival(refund)).toMatchObject(known('ARN1'));
  const stored = await rowOf(service, refund.id);
  expect([stored.status, stored.work]).toEqual(['completed', null]);
  expect(stored.updatedAt.getTime()).toBeGreaterThan(updatedAt.getTime());
  expect(await lastEventOf(service, refund)).toMatchObject({ type: 'arrival.known', detail: known('ARN1') });

  // Another event that says what is on record by now.
  const events = await webhooks.events();
  await service.sandbox.driveRefund(refund.externalRefundId ?? '', { status: 'failed' });
  await waitFor('the next event', async () => (await webhooks.events()).length > events.length);
  await advanceRefund(service.deps, refund.id);
  expect(await arrival(refund)).toBeNull();
});
