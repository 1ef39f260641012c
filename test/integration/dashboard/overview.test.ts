import { expect, test } from 'vitest';
import { setPolicies } from '#shared/policies/stored-policies.ts';
import { signInMember } from '../../support/dashboard/dashboard-member.ts';
import { fillWithRefunds } from '../../support/dashboard/dashboard-stage.ts';
import { newRefund } from '../../support/refunds/new-refund.ts';
import { newPayment } from '../../support/refunds/payments.ts';
import { untilStatus } from '../../support/refunds/refund-records.ts';
import { useService } from '../../support/use-service.ts';
import { newEndpoint } from '../../support/webhooks/api-endpoints.ts';

// Six pages at once, none of which waits for another one.
const service = useService({ settings: { DASHBOARD_POOL_SIZE: 7 } });
const signedIn = async (organizationId?: string) =>
  (await signInMember(service, 'viewer', organizationId)).visitor;

/** What needs attention: the words of each thing, since when, and the action. */
function rowsOf(html: string): string[][] {
  const [, list = ''] = /<ul class="attention">(.*?)<\/ul>/s.exec(html) ?? [];
  return [...list.matchAll(/<li .*?<\/li>/gs)].map(([row]) =>
    row
      .replace(/<svg.*?<\/svg>/s, '')
      .split(/<\/div>|<\/time>/)
      .map((part) => part.replace(/<[^>]+>/g, '')),
  );
}

test('shows numbers, money and what needs attention of one organization and environment alone', async () => {
  const transactionId = await newPayment(service, { processor: 'stripe' });
  const ask = (amount: number) =>
    service.call('POST', '/v1/refunds', { body: { transactionId, amount, reason: 'other' } });
  await untilStatus(service, (await ask(1_500)).body.data.id, 'completed');
  const asking = { name: 'Ask', priority: 1, approvalAbove: { api: 0 } };
  const organizationId = service.organization.id;
  await setPolicies(service.deps, { organizationId, file: { policies: [asking] }, actor: 'test' });
  const waiting = (await ask(2_500)).body.data;
  expect(waiting.status).toBe('pending');
  const visitor = await signedIn();
  const page = await visitor.get(`/dashboard/${organizationId}/test?days=7`);
  expect(page.text).toContain('15.00 USD');
  expect(rowsOf(page.text)).toEqual([
    ['1 refund awaits approval 25.00 USD', expect.stringContaining('UTC'), 'Review'],
  ]);
  const review = `/dashboard/${organizationId}/test/approvals`;
  expect(page.text).toContain(`href="${review}"`);
  expect((await visitor.get(review)).text).toContain(waiting.id);
  expect(page.text).toContain('aria-label="Refunds per day by status"');
  expect(page.text).toMatch(/By creation date in UTC, as of <time /);
  const live = await visitor.get(`/dashboard/${organizationId}/live?days=7`);
  expect(live.text).not.toContain('15.00 USD');
  expect(rowsOf(live.text)).toEqual([]);
});

test('shows each organization its own figures when several are read at once', async () => {
  const amounts = [1_100, 1_200, 1_300];
  const reads = await Promise.all(
    amounts.map(async (amount) => {
      const { id, keys } = await service.addOrganization(`Of ${amount}`);
      const transactionId = await newPayment(service, { processor: 'stripe' });
      await newRefund(service, { transactionId, amount }, { key: keys.test.plaintext });
      const visitor = await signedIn(id);
      return async (environment: string) =>
        (await visitor.get(`/dashboard/${id}/${environment}?days=7`)).text;
    }),
  );
  const shown = await Promise.all(reads.flatMap((read) => [read('test'), read('live')]));
  const found = shown.map((text) => amounts.filter((amount) => text.includes(`${amount / 100}.00 USD`)));
  expect(found).toEqual([[1_100], [], [1_200], [], [1_300], []]);
});

test('an organization whose refunds are all older is not shown as a new one, and has no completion rate while all are in progress', async () => {
  const { id: organizationId, keys } = await service.addOrganization('Quiet');
  const asking = { name: 'Ask', priority: 1, approvalAbove: { api: 0 } };
  await setPolicies(service.deps, { organizationId, file: { policies: [asking] }, actor: 'test' });
  const refund = await newRefund(service, {}, { key: keys.test.plaintext });
  expect(refund.status).toBe('pending');
  const visitor = await signedIn(organizationId);
  const url = `/dashboard/${organizationId}/test`;
  expect((await visitor.get(`${url}?days=7`)).text).toMatch(/>Completed<\/span><span class="tile-value">-</);
  const createdAt = new Date(Date.now() - 40 * 86_400_000);
  await service.deps.db.refund.update({ where: { id: refund.id }, data: { createdAt } });
  // Another period, because the figures of the first one are reused for a minute where a machine took long to read them.
  const { text } = await visitor.get(`${url}?days=30`);
  expect(text).toContain('No test refunds in the last 30 days');
  expect(text).not.toContain('Bearer svc_test_');
});

test('lists webhook endpoints that the service disabled, until a client has dealt with them', async () => {
  const { id: organizationId, keys } = await service.addOrganization('Deaf');
  const endpoints = await Promise.all(
    ['failing', 'gone', 'requested', null].map(async (disabledReason, index) => {
      const url = `http://127.0.0.1:9/${disabledReason}`;
      const { id } = await newEndpoint(service, { key: keys.test.plaintext, url });
      if (disabledReason === null) return id;
      const updatedAt = new Date(Date.now() - (9 - index) * 60_000);
      const data = { status: 'disabled', disabledReason, updatedAt } as const;
      await service.deps.db.webhookEndpoint.update({ where: { id }, data });
      return id;
    }),
  );
  const visitor = await signedIn(organizationId);
  const shown = async (environment = 'test') =>
    rowsOf((await visitor.get(`/dashboard/${organizationId}/${environment}`)).text).map(([words]) => words);
  expect(await shown()).toEqual([
    expect.stringContaining('http://127.0.0.1:9/failing has not accepted an event for five days'),
    expect.stringContaining('http://127.0.0.1:9/gone replied 410 Gone'),
  ]);
  expect(await shown('live')).toEqual([]);
  const [failing, gone] = endpoints;
  const key = keys.test.plaintext;
  const body = { status: 'enabled' };
  expect((await service.call('PATCH', `/v1/webhook-endpoints/${failing}`, { key, body })).status).toBe(200);
  expect((await service.call('DELETE', `/v1/webhook-endpoints/${gone}`, { key })).status).toBe(200);
  expect(await shown()).toEqual([]);
});

test('compares with the period before, shows a first day by hours, and leads to the refunds behind a number', async () => {
  const { id: organizationId, keys } = await service.addOrganization('Compared');
  const transactionId = await newPayment(service, { processor: 'stripe', amount: 50_000 });
  const ask = async (amount: number): Promise<string> =>
    (await newRefund(service, { transactionId, amount }, { key: keys.test.plaintext })).id;
  const [earlier, failed] = [await ask(1_000), await ask(2_000), await ask(3_000)];
  const where = (id: string) => ({ where: { id } });
  await service.deps.db.refund.update({
    ...where(failed),
    data: { status: 'failed', failureCode: 'insufficient_funds' },
  });
  const visitor = await signedIn(organizationId);
  const base = `/dashboard/${organizationId}/test`;
  expect((await visitor.get(base)).text).toContain('aria-label="Refunds per hour by status"');
  const createdAt = new Date(Date.now() - 10 * 86_400_000);
  await service.deps.db.refund.update({ ...where(earlier), data: { createdAt } });
  const { text } = await visitor.get(`${base}?days=7`);
  expect(text).toMatch(
    /refunds\?status=pending&amp;status=processing&amp;from=[^"]*"[^>]*><span[^>]*>In progress/,
  );
  expect(text).toMatch(/>Refunds<\/span><span class="tile-value">2<\/span><span[^>]*>\+100%, 1 before</);
  const [, to = ''] = /<a href="([^"]+)">Not enough funds in the account<\/a>/.exec(text) ?? [];
  const list = (await visitor.get(to.replaceAll('&amp;', '&'))).text;
  expect(list).toContain(`id="row-${failed}"`);
  expect(list.match(/id="row-/g)).toHaveLength(1);
});

test('counts what needs attention in the navigation of every page, of the environment alone', async () => {
  const { id: organizationId } = await service.addOrganization('Counted');
  const owner = { organizationId, environment: 'test' } as const;
  await fillWithRefunds(service, organizationId, 60);
  const pending = await service.deps.db.refund.findMany({ where: { ...owner, status: 'pending' } });
  const flagged = await service.deps.db.refundWork.findMany({
    where: { ...owner, flaggedAt: { not: null } },
  });
  const either = new Set([...pending.map(({ id }) => id), ...flagged.map(({ refundId }) => refundId)]);
  const visitor = await signedIn(organizationId);
  const counts = async (environment: string) =>
    [
      ...(await visitor.get(`/dashboard/${organizationId}/${environment}/policies`)).text.matchAll(
        /class="count">([^<]+)</g,
      ),
    ].map(([, count]) => Number(count));
  expect(await counts('test')).toEqual([pending.length, either.size]);
  expect(await counts('live')).toEqual([]);
});

test('links a refused account to its settings, and to no refunds', async () => {
  const { id: organizationId } = await service.addOrganization('Refused');
  await service.deps.db.processorAccount.updateMany({
    where: { organizationId, environment: 'test', processor: 'stripe' },
    data: { misconfiguredAt: new Date() },
  });
  const { text } = await (await signedIn(organizationId)).get(`/dashboard/${organizationId}/test`);
  expect(rowsOf(text)).toEqual([['Stripe rejected the credentials ', expect.any(String), 'Set credentials']]);
  expect(text).toMatch(new RegExp(`href="/dashboard/${organizationId}/test/settings/accounts/acc_\\w+"`));
});

test('shows a new organization how to create its first refund, also for an invalid query', async () => {
  const { id } = await service.addOrganization('New');
  const visitor = await signedIn(id);
  for (const query of ['?days=1000000000', '?days=x']) {
    expect((await visitor.get(`/dashboard/${id}/live${query}`)).status).toBe(400);
  }
  for (const query of ['', '?currency=%3Cscript%3E', '?days=7&currency=eur']) {
    const { status, text } = await visitor.get(`/dashboard/${id}/live${query}`);
    expect(status).toBe(200);
    expect(text).toContain('No live refunds yet');
    expect(text).toContain('Bearer svc_live_...');
    expect(text).toContain('data-environment="live"');
    expect(text).not.toContain('<script>');
  }
});
