import { afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { readAttention } from '#api/cli/reports/refund-attention.ts';
import { readNeedsAttention } from '#shared/insights/needs-attention.ts';
import { createApiKey } from '#shared/organizations/api-keys.ts';
import { approveRefund } from '#shared/refunds/decisions/approve.ts';
import type { ProcessorName } from '#test/sandbox/processors.ts';
import { type DashboardMember, signInMember } from '#test/support/dashboard/dashboard-member.ts';
import { newPerson } from '#test/support/people.ts';
import { disputeWebhook } from '#test/support/processors/signed-webhooks.ts';
import { useWebhooks } from '#test/support/processors/webhooks.ts';
import { newRefund } from '#test/support/refunds/new-refund.ts';
import { newPayment, storedPayment } from '#test/support/refunds/payments.ts';
import { rowOf } from '#test/support/refunds/refund-records.ts';
import { storePolicies } from '#test/support/refunds/stored-policies.ts';
import { useService } from '#test/support/use-service.ts';

const service = useService({ workers: 0 });
const webhooks = useWebhooks(service);
let operator: DashboardMember;

beforeAll(async () => {
  operator = await signInMember(service, 'operator');
  await storePolicies(service, { approvalAbove: { api: 0, dashboard: 0 } });
});
beforeEach(async () => {
  const { db } = service.deps;
  await db.refund.updateMany({ where: { status: 'pending' }, data: { status: 'cancelled' } });
});
afterEach(() => service.sandbox.clearFaults());

/** A refund that awaits approval. */
async function pendingRefund(processor: ProcessorName) {
  const transactionId = await newPayment(service, { processor });
  const { id } = await newRefund(service, { processor, transactionId });
  return { id, transactionId };
}

async function report(processor: ProcessorName, transactionId: string, status?: 'won'): Promise<void> {
  const webhook = disputeWebhook(processor, { transactionId, ...(status && { status }) });
  expect(await webhooks.send(processor, webhook)).toMatchObject({ status: 200 });
}

const approve = async ({ id }: { id: string }) =>
  (await approveRefund(service.deps, await rowOf(service, id), 'cli:ada')).kind;

const owner = () => ({ organizationId: service.organization.id, environment: 'test' }) as const;
const disputed = async () => (await readNeedsAttention(service.deps.db, owner())).disputedPayments;

describe.each(['stripe', 'braintree'] as const)('a chargeback at %s', (processor) => {
  test('holds a refund that awaits approval, and needs attention, until the dispute is won', async () => {
    const refund = await pendingRefund(processor);
    const { transactionId } = refund;
    await service.sandbox.changeTransaction(transactionId, { status: 'disputed' });
    await report(processor, transactionId);
    expect(await disputed()).toMatchObject([{ processor, transactionId, count: 1, amount: 1_000n }]);
    expect((await readAttention(service.deps.db, undefined)).payments).toMatchObject([{ transactionId }]);
    expect(await approve(refund)).toBe('disputed');
    const place = `/dashboard/${service.organization.id}/test`;
    for (const page of [`/refunds/${refund.id}`, '/approvals', '']) {
      expect((await operator.visitor.get(`${place}${page}`)).text).toMatch(/payment \w* ?is disputed/i);
    }
    const refused = await operator.visitor.post(`${place}/refunds/${refund.id}/approve`);
    expect([refused.status, refused.text]).toEqual([409, expect.stringContaining('The payment is disputed')]);
    expect(await rowOf(service, refund.id)).toMatchObject({ status: 'pending' });

    await service.sandbox.changeTransaction(transactionId, { dispute: 'won' });
    await report(processor, transactionId, 'won');
    expect(await approve(refund)).toBe('done');
    expect(await disputed()).toEqual([]);
    expect((await storedPayment(service, transactionId)).fetchedAt).not.toBeNull();
  });

  test('that the processor does not confirm holds nothing', async () => {
    const refund = await pendingRefund(processor);
    await report(processor, refund.transactionId);
    expect(await approve(refund)).toBe('done');
  });

  test('holds a refund while the processor does not answer, and nothing else does', async () => {
    const [refund, other] = [await pendingRefund(processor), await pendingRefund(processor)];
    await report(processor, refund.transactionId);
    await report(processor, other.transactionId, 'won');
    await service.sandbox.fault({ processor, operation: 'transaction.get', kind: 'error-503', times: null });
    expect([await approve(refund), await approve(other)]).toEqual(['disputed', 'done']);
  });

  test('needs no attention once the refunds of its payment have ended', async () => {
    const { id, transactionId } = await pendingRefund(processor);
    await report(processor, transactionId);
    expect(await disputed()).toHaveLength(1);
    await service.call('POST', `/v1/refunds/${id}/cancel`);
    expect(await disputed()).toEqual([]);
  });
});

test('a key that approves gets 409 payment_disputed', async () => {
  const refund = await pendingRefund('stripe');
  await service.deps.db.payment.updateMany({ data: { disputedAt: new Date() } });
  await service.sandbox.changeTransaction(refund.transactionId, { status: 'disputed' });
  const { userId } = await newPerson(service.deps, service.organization.id, 'admin');
  const scopes = ['refunds:read', 'refunds:approve'] as const;
  const { plaintext: key } = await createApiKey(service.deps, {
    ...{ ...owner(), actor: `user:${userId}`, scopes: [...scopes] },
  });
  const { status, body } = await service.call('POST', `/v1/refunds/${refund.id}/approve`, { key });
  expect([status, body.error.code]).toEqual([409, 'payment_disputed']);
});
