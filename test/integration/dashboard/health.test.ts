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

test('the health page counts what waits in its own environment, with links to it', async () => {
  const { deps } = service;
  const { refund } = await createRefund(deps, refundRequest(service, await newPayment(service), {}));
  const since = new Date(Date.now() - 90_000);
  await deps.db.refundWork.update({
    where: { refundId: refund.id },
    data: { dueAt: since, retryingSince: since, unknownSince: since },
  });
  const numbersOf = (text: string) =>
    [...text.matchAll(/href="[^"]*\/refunds\?processor=stripe&amp;([^"]*)">([^<]*)</g)].map((each) =>
      each.slice(1),
    );
  const { text } = await operator.visitor.get(`${base}/health`);
  expect(numbersOf(text)).toEqual([
    ['status=processing', '1'],
    ['status=processing&amp;sort=oldest', expect.stringMatching(/^1 min|^90 s|^9\d s/)],
    ['status=processing&amp;sort=oldest', '1'],
    ['outcomeUnknown=true', '1'],
    ['status=completed', '0'],
  ]);
  const live = await operator.visitor.get(`${base.replace('/test', '/live')}/health`);
  expect(numbersOf(live.text).map(([, number]) => number)).toEqual(['0', 'None', '0', '0', '0']);
});
