import { beforeAll, expect, test } from 'vitest';
import { setProcessorAccount } from '#shared/processors/accounts/manage-accounts.ts';
import { createRefund } from '#shared/refunds/lifecycle/create.ts';
import { sandboxCredentials } from '../../sandbox/processors.ts';
import { type DashboardMember, signInMember } from '../../support/dashboard/dashboard-member.ts';
import { newPayment } from '../../support/refunds/payments.ts';
import { refundRequest } from '../../support/refunds/refund-requests.ts';
import { useService } from '../../support/use-service.ts';

const service = useService({ workers: 0 });
let operator: DashboardMember;
let base: string;
beforeAll(async () => {
  operator = await signInMember(service, 'operator');
  base = `/dashboard/${service.organization.id}/test`;
});

test('the health page counts what waits in its own environment, and links to refunds of an unknown outcome', async () => {
  const { deps } = service;
  const { refund } = await createRefund(deps, refundRequest(service, await newPayment(service), {}));
  const ago = (seconds: number) => new Date(Date.now() - seconds * 1_000);
  await deps.db.refundWork.update({
    where: { refundId: refund.id },
    data: { dueAt: ago(90), retryingSince: ago(180), unknownSince: ago(180) },
  });
  /** The words of a page from the name of the processor on. */
  const stripeOf = (text: string) => text.slice(text.indexOf('>Stripe<')).replaceAll(/<[^>]*>/g, ' ');
  const { text } = await operator.visitor.get(`${base}/health`);
  expect(stripeOf(text)).toMatch(/^\S+ +Not answering .* +1 +1 min.* +1 +1 +0 /);
  expect(text).toContain(`?account=${refund.accountId}&amp;outcomeUnknown=true&amp;sort=oldest">1</a>`);
  const live = await operator.visitor.get(`${base.replace('/test', '/live')}/health`);
  expect(stripeOf(live.text)).toMatch(/^\S+ +Operational +0 +None +0 +0 +0 /);
});

test('the health page counts what waits at each account apart, and at all that are connected to it together', async () => {
  const { deps, organization, sandboxUrl } = service;
  const place = { organizationId: organization.id, environment: 'test', processor: 'stripe' } as const;
  const credentials = sandboxCredentials('test', sandboxUrl).stripe;
  await setProcessorAccount(deps, { ...place, name: 'shop-eu', credentials, actor: 'test' });
  const request = async (fields: object) =>
    await createRefund(deps, { ...refundRequest(service, await newPayment(service), {}), ...fields });
  await request({ account: 'shop-eu' });
  for (const seller of ['acct_seller1', 'acct_seller2', 'acct_seller2']) {
    const transactionId = await newPayment(service, { connectedAccount: seller });
    await request({ transactionId, account: 'shop-eu', connectedAccount: seller });
  }
  const { text } = await operator.visitor.get(`${base}/health`);
  const waiting = [
    ...text.matchAll(/<th scope="row"><a [^>]*>([^<]*)<\/a>.*?data-title="Waiting">(.*?)<\/td>/gs),
  ];
  expect(waiting.map(([, label, cell = '']) => [label, cell.replaceAll(/<[^>]*>/g, '')])).toEqual([
    ['Braintree', '0'],
    ['Stripe', '1'],
    ['shop-eu (Stripe)', '1'],
    ['Connected to shop-eu (Stripe)', '3'],
  ]);
});

test('offers the queue board to operators of every organization alone', async () => {
  const { visitor } = await signInMember(service, 'operator');
  const offered = async () => (await visitor.get(`${base}/health`)).text.includes('Queue board');
  expect(await offered()).toBe(true);
  await service.addOrganization('Another');
  expect(await offered()).toBe(false);
});
