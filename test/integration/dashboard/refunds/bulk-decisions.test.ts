import { beforeAll, expect, test } from 'vitest';
import { createOrganization } from '#shared/organizations/create-organization.ts';
import type { Refund } from '#shared/platform/database.ts';
import { createRefund } from '#shared/refunds/lifecycle/create.ts';
import { auditOf } from '#test/support/audit-log.ts';
import { type DashboardMember, signInMember } from '#test/support/dashboard/dashboard-member.ts';
import { newPayment } from '#test/support/refunds/payments.ts';
import { rowOf, unknownRefundId } from '#test/support/refunds/refund-records.ts';
import { refundRequest } from '#test/support/refunds/refund-requests.ts';
import { storePolicies } from '#test/support/refunds/stored-policies.ts';
import { waitForLock, withClient } from '#test/support/stores/database-client.ts';
import { useService } from '#test/support/use-service.ts';

const service = useService({ workers: 0 });
let operator: DashboardMember;
let list: string;

beforeAll(async () => {
  list = `/dashboard/${service.organization.id}/test/refunds`;
  operator = await signInMember(service, 'operator');
  await storePolicies(service, { name: 'Ask', approvalAbove: { api: 0, dashboard: 0 } });
});

const approved = { decision: 'approve', reviewed: 'yes' };

async function pending(more = {}): Promise<Refund> {
  return (await createRefund(service.deps, refundRequest(service, await newPayment(service), more))).refund;
}

const post = (refunds: readonly { id: string }[], fields: Record<string, string>) =>
  operator.visitor.post(`${list}/decisions?status=pending`, [
    ...refunds.map(({ id }): [string, string] => ['refund', id]),
    ...Object.entries(fields),
  ]);
const statusesOf = (refunds: readonly Refund[]) =>
  Promise.all(refunds.map(async ({ id }) => (await rowOf(service, id)).status));

test('approves the selected refunds, and says why it refuses one', async () => {
  const byOperator = { apiKey: null, initiatedBy: 'dashboard', actor: `user:${operator.userId}` };
  const own = await pending(byOperator);
  const others = [await pending(), await pending()];
  const page = (await operator.visitor.get(`${list}?status=pending&select=all`)).text;
  expect(page.match(/<input type="checkbox" form="selection" [^>]*checked/g)).toHaveLength(3);
  const { status, text } = await post([others[0] ?? own, own, ...others], approved);
  expect(status).toBe(200);
  expect(text).toContain('Approved: 2. Refused, and not changed: 1.');
  expect(text).toContain('You requested this refund, and no other member can approve it.');
  expect(text).toContain(`href="${list}?status=pending"`);
  expect(await statusesOf([own, ...others])).toEqual(['pending', 'processing', 'processing']);
  const [entry] = await auditOf(service, others[0]?.id ?? '');
  expect(entry).toMatchObject({ action: 'refund.approved', actor: byOperator.actor });
});

test('shows number, total and largest before it approves, and then order, amount and outcome', async () => {
  const euros = { transactionId: await newPayment(service, { currency: 'eur' }), currency: 'eur' };
  const order = { metadata: { order_id: 'A-7' } };
  const refunds = [
    await pending({ amount: 1_000n, ...order }),
    await pending({ amount: 9_900n }),
    (
      await createRefund(service.deps, {
        ...refundRequest(service, euros.transactionId),
        ...euros,
        amount: 700n,
      })
    ).refund,
  ];
  const wordsOf = (text: string) => text.replace(/<[^>]*>/g, ' ').replace(/\s+/g, ' ');
  const review = await post(refunds, { decision: 'approve' });
  const words = wordsOf(review.text);
  expect(words).toContain('Total 7.00 EUR and 109.00 USD Largest 7.00 EUR and 99.00 USD');
  expect(words).toContain('Approve 3 refunds');
  expect(await statusesOf(refunds)).toEqual(['pending', 'pending', 'pending']);
  const badge = (text: string) => Number(/Approvals <span class="count">(\d+)/.exec(text)?.[1] ?? 0);
  const { text } = await post(refunds, approved);
  expect(wordsOf(text)).toContain(`${refunds[0]?.id} A-7 10.00 USD Approved`);
  expect(badge(text)).toBe(badge(review.text) - 3);
});

test('asks again for the reason of a rejection with the selection kept, and then rejects', async () => {
  const refunds = [await pending(), await pending()];
  const again = await post(refunds, { decision: 'reject', rejectReason: ' ' });
  expect(again.status).toBe(400);
  expect(again.text).toContain('Must be 1 to 500 printable characters.');
  for (const { id } of refunds) expect(again.text).toContain(`name="refund" value="${id}"`);
  expect(await statusesOf(refunds)).toEqual(['pending', 'pending']);
  await post(refunds, { decision: 'reject', rejectReason: 'An exchange' });
  expect(await statusesOf(refunds)).toEqual(['cancelled', 'cancelled']);
});

test('approves no further refund once the operator is a viewer', async () => {
  const refunds = [await pending(), await pending()];
  const { organization, deps, databaseUrl } = service;
  const where = { organizationId_userId: { organizationId: organization.id, userId: operator.userId } };
  const answering = await withClient(databaseUrl, async (client) => {
    await client.query('BEGIN');
    await client.query('SELECT 1 FROM payment WHERE id = $1 FOR UPDATE', [refunds[0]?.paymentId]);
    const answer = post(refunds, approved);
    await waitForLock(client, 1);
    await deps.db.membership.update({ where, data: { role: 'viewer' } });
    await client.query('COMMIT');
    return { answer };
  });
  const { text } = await answering.answer;
  await deps.db.membership.update({ where, data: { role: 'operator' } });
  expect(text).toContain('Your role is viewer.');
  expect(await statusesOf(refunds)).toEqual(['processing', 'pending']);
});

test('shows a viewer no boxes', async () => {
  const viewer = await signInMember(service, 'viewer');
  await pending();
  expect((await viewer.visitor.get(list)).text).not.toContain('form="selection"');
});

test("answers another organization's refund like an unknown one, and does not change it", async () => {
  const refund = await pending();
  const { id } = await createOrganization(service.deps, { name: 'Others', actor: 'test' });
  const { visitor } = await signInMember(service, 'operator', id);
  const answers = [refund.id, unknownRefundId].map((refund) =>
    visitor.post(`/dashboard/${id}/test/refunds/decisions`, { refund, ...approved }),
  );
  for (const { text } of await Promise.all(answers)) {
    expect(text).toContain('Refused, and not changed: 1.');
    expect(text).toContain('>Refund not found.<');
  }
  expect(await statusesOf([refund])).toEqual(['pending']);
});
