import { beforeAll, expect, test } from 'vitest';
import { createRefund } from '#shared/refunds/lifecycle/create.ts';
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

test('the health page refreshes itself alone, without another frame within', async () => {
  const { visitor } = operator;
  const page = await visitor.get(`${base}/health`);
  expect(page.text).toContain('<main');
  const part = await visitor.get(`${base}/health`, { 'hx-request': 'true' });
  expect(part.text).toMatch(/^<div id="health"/);
  expect(part.text).not.toContain('<main');
});

test('the health page counts what waits in its own environment, and links to refunds of an unknown outcome', async () => {
  const { deps } = service;
  const { refund } = await createRefund(deps, refundRequest(service, await newPayment(service), {}));
  const since = new Date(Date.now() - 90_000);
  await deps.db.refundWork.update({
    where: { refundId: refund.id },
    data: { dueAt: since, retryingSince: since, unknownSince: since },
  });
  /** The words of a page from the name of the processor on. */
  const stripeOf = (text: string) => text.slice(text.indexOf('>Stripe<')).replaceAll(/<[^>]*>/g, ' ');
  const { text } = await operator.visitor.get(`${base}/health`);
  expect(stripeOf(text)).toMatch(/^\S+ +Not answering .* +1 +1 min.* +1 +1 +0 /);
  expect(text).toContain('?processor=stripe&amp;outcomeUnknown=true">1</a>');
  const live = await operator.visitor.get(`${base.replace('/test', '/live')}/health`);
  expect(stripeOf(live.text)).toMatch(/^\S+ +Operational +0 +None +0 +0 +0 /);
});
