import { beforeAll, expect, test } from 'vitest';
import { connectOverHttp } from '#test/support/agents/agent.ts';
import { type DashboardMember, signInMember } from '#test/support/dashboard/dashboard-member.ts';
import { newPerson } from '#test/support/people.ts';
import { newPayment } from '#test/support/refunds/payments.ts';
import { useService } from '#test/support/use-service.ts';
import { waitFor } from '#test/support/wait-for.ts';

const service = useService({ workers: 0 });
let admin: DashboardMember;
let apiKeys: string;

beforeAll(async () => {
  admin = await signInMember(service, 'admin');
  apiKeys = `/dashboard/${service.organization.id}/test/settings/api-keys`;
});

const create = (fields: Record<string, string>) => admin.visitor.post(`${apiKeys}/agent`, fields);
const newestKey = () => service.deps.db.apiKey.findFirstOrThrow({ orderBy: { createdAt: 'desc' } });

test('an agent key is created with limits, and the list shows these with what is used', async () => {
  const limits = { currency: 'USD', maxPerRefund: '50', maxPerDay: '1,500.00', approvalAbove: '40' };
  const { text } = await create({ name: 'Support agent', reasons: 'other', ...limits });
  const [plaintext = ''] = /svc_test_[A-Za-z0-9]{32}/.exec(text) ?? [];
  const key = await newestKey();
  expect(key.agentLimits).toEqual({
    ...{ currency: 'usd', maxPerRefund: 5_000, maxPerDay: 150_000, approvalAbove: 4_000 },
    reasons: ['other'],
  });
  const body = { transactionId: await newPayment(service), amount: 950, reason: 'other' };
  expect((await service.call('POST', '/v1/refunds', { key: plaintext, body })).status).toBe(200);
  const [row] =
    new RegExp(`<tr id="${key.id}">.*?</tr>`, 's').exec((await admin.visitor.get(apiKeys)).text) ?? [];
  for (const shown of [
    ...['9.50 USD of 1,500.00 USD in 24 hours', '50.00 USD per refund', 'USD only, for: Other'],
    ...['40.00 USD per payment without approval', `/refunds?requestedBy=key:${key.id}`],
  ]) {
    expect(row).toContain(shown);
  }
});

test.each([
  [
    'limits without a currency',
    { currency: '', maxPerRefund: '50' },
    'id="currency-problem">Enter the currency',
  ],
  ['an unknown currency', { currency: 'xxx' }, 'id="currency-problem">Enter the currency'],
  ['a limit of nothing', { currency: 'usd', maxPerDay: '0' }, 'id="maxPerDay-problem">Must be more than 0.'],
  [
    'an amount in words',
    { currency: 'usd', maxPerRefund: 'few' },
    'id="maxPerRefund-problem">Enter a number',
  ],
])('an agent key is not created with %s', async (_what, fields, problem) => {
  const count = await service.deps.db.apiKey.count();
  const { status, text } = await create(fields);
  expect([status, text.includes(problem)]).toEqual([400, true]);
  expect(await service.deps.db.apiKey.count()).toBe(count);
});

test('every client is offered what connects it, with the key only in the answer that creates it', async () => {
  const { text } = await create({ currency: 'usd' });
  const [plaintext = ''] = /svc_test_[A-Za-z0-9]{32}/.exec(text) ?? [];
  for (const client of ['Claude', 'ChatGPT', 'Gemini CLI', 'Cursor', 'MCP SDK for TypeScript']) {
    const [, snippet] = new RegExp(`<summary>${client}</summary>.*?<code>(.*?)</code>`, 's').exec(text) ?? [];
    expect(snippet, client).toContain(`Bearer ${plaintext}`);
    expect(snippet, client).toMatch(/http:\/\/[^"]+\/mcp/);
  }
  const { id } = await newestKey();
  expect((await admin.visitor.get(`${apiKeys}/${id}`)).text).not.toContain(plaintext);
});

test('the page of an agent key waits for the first call, and then says which tool it was', async () => {
  const { text } = await create({ currency: 'usd' });
  const [plaintext = ''] = /svc_test_[A-Za-z0-9]{32}/.exec(text) ?? [];
  const { id } = await newestKey();
  const live = async () => (await admin.visitor.get(`${apiKeys}/${id}`, { 'hx-request': 'true' })).text;
  expect(text).toContain('Waiting for its first call.');
  expect(await live()).toMatch(/^<div id="first-call" hx-get[^>]*>.*Waiting for its first call\./);
  const agent = await connectOverHttp(await service.url(), plaintext);
  await agent.call('list_refunds');
  await waitFor('the first call', async () => (await newestKey()).firstTool);
  await agent.call('check_policy', { transactionId: await newPayment(service) });
  await agent.close();
  expect(await live()).toMatch(/^<div id="first-call">.*Its first call was <code>list_refunds<\/code>/);
});

test('a key whose refunds no one can approve says so, and one that someone can approve does not', async () => {
  const { id } = await service.addOrganization('Alone');
  const { visitor } = await signInMember(service, 'owner', id);
  const isWarned = async () => {
    const limits = { currency: 'usd', approvalAbove: '40' };
    const { text } = await visitor.post(`/dashboard/${id}/test/settings/api-keys/agent`, limits);
    return text.includes('No one can approve refunds of this key now.');
  };
  expect(await isWarned()).toBe(true);
  await newPerson(service.deps, id, 'operator');
  expect(await isWarned()).toBe(false);
});
