import { beforeAll, expect, test } from 'vitest';
import { type Replay, replayPolicies } from '#shared/insights/replay.ts';
import { type ApiKeyScope, createApiKey } from '#shared/organizations/api-keys.ts';
import { openFairLimit } from '#shared/platform/concurrency/fair-limit.ts';
import type { PolicyInput } from '#shared/policies/policy.ts';
import { policySchema } from '#shared/policies/policy.ts';
import { query } from '../../support/stores/database-client.ts';
import { useService } from '../../support/use-service.ts';

// All refunds are inserted with times of their own: a replay is about the past.
const service = useService({ workers: 0 });
const owner = () => ({ organizationId: service.organization.id, environment: 'test' }) as const;
const accountIn = (environment: string) => service.organization.accounts[environment as 'test'].stripe;
const day = 24 * 60 * 60 * 1000;
/** What is not said of a refund. */
const usual = {
  payment: 1,
  amount: 1_000,
  reason: 'other',
  requester: 'key:one',
  metadata: null as object | null,
  apiKeyId: null as string | null,
  /** How many days after its creation it failed. */
  failedAfter: null as number | null,
  environment: 'test',
};
type Past = Partial<typeof usual>;

const payments = new Map<string, bigint>();
let count = 0;

/** A payment of 100.00 USD that was charged 100 days ago. */
async function paymentOf(name: string, environment: string, isKnown = true): Promise<bigint> {
  const key = `${environment} ${name}`;
  const known = payments.get(key);
  if (known !== undefined) return known;
  const [{ id }] = await query(
    service.settings.DATABASE_URL,
    `insert into payment (organization_id, environment, account_id, amount, currency, charged_at)
     values ('${owner().organizationId}', '${environment}', '${accountIn(environment)}',
       ${isKnown ? `10000, 'usd', now() - interval '100 days'` : 'null, null, null'}) returning id`,
  );
  payments.set(key, BigInt(id));
  return BigInt(id);
}

/** A refund that was created some days ago. @returns its id. */
async function past(daysAgo: number, given: Past = {}): Promise<string> {
  const { payment, amount, reason, requester, metadata, apiKeyId, failedAfter, environment } = {
    ...usual,
    ...given,
  };
  count += 1;
  const id = `ref_${String(count).padStart(8, '0')}`;
  const createdAt = new Date(Date.now() - daysAgo * day);
  const paymentId = await paymentOf(String(payment), environment, payment !== 0);
  const { db } = service.deps;
  await db.refund.create({
    data: {
      ...{ id, ...owner(), environment: environment as 'test', transactionId: `ch_${payment}`, paymentId },
      accountId: accountIn(environment),
      ...{ amount: BigInt(amount), currency: 'usd', reason: reason as 'other', requester, apiKeyId },
      ...{ status: failedAfter === null ? 'completed' : 'failed', processor: 'stripe', initiatedBy: 'api' },
      ...{ createdAt, updatedAt: createdAt, externalRefundId: `re_${count}` },
      ...(metadata === null ? {} : { metadata }),
      ...(failedAfter === null ? {} : { failureCode: 'declined', failureMessage: 'Declined.' }),
    },
  });
  if (failedAfter !== null) {
    await db.refundEvent.create({
      data: {
        ...{ id: `evt_${count}`, refundId: id, seq: 1, type: 'refund.failed', actor: 'worker' },
        ...{ status: 'failed', detail: {}, createdAt: new Date(+createdAt + failedAfter * day) },
        ...{ organizationId: owner().organizationId, environment: 'test', position: BigInt(count) },
      },
    });
  }
  return id;
}

const enforce = { api: true, dashboard: true };

async function replay(proposed: Partial<PolicyInput>, current: Partial<PolicyInput> = {}, limit?: number) {
  const parsed = (rules: Partial<PolicyInput>) => [
    policySchema.parse({ name: 'All', priority: 1, ...rules }),
  ];
  const sets = { current: parsed(current), proposed: parsed(proposed) };
  return await replayPolicies(service.deps, owner(), sets, limit);
}

/** The ids of the refunds that come to an outcome. */
const idsOf = ({ affected }: Replay, outcome: string) =>
  affected.filter(({ proposed }) => proposed === outcome).map(({ refund }) => refund.id);

const ids: Record<string, string> = {};
let unlike: string;

beforeAll(async () => {
  const agent = await createApiKey(service.deps, {
    ...{ ...owner(), actor: 'test', agentLimits: { currency: 'usd' } },
  });
  // Before the time of a replay, of a payment that is refunded again in it.
  await past(95, { payment: 2, amount: 3_000 });
  await past(96, { payment: 2, amount: 5_000, failedAfter: 40 });
  ids.first = await past(60, { payment: 2, amount: 1_000 });
  ids.second = await past(50, { payment: 2, amount: 1_000 });
  ids.failed = await past(40.5, { payment: 3, amount: 4_000, failedAfter: 0.2 });
  ids.beforeFailure = await past(40.4, { payment: 3, amount: 2_000, requester: 'key:two' });
  ids.afterFailure = await past(40.2, { payment: 3, amount: 2_000 });
  ids.agent = await past(30, { payment: 4, apiKeyId: agent.id });
  ids.gift = await past(20, {
    payment: 5,
    metadata: { kind: 'gift_card', note: 'x' },
    reason: 'duplicate_charge',
  });
  await past(10, { payment: 0 });
  unlike = await past(5, { payment: 6, environment: 'live' });
});

test('a replay counts what a payment had been refunded then, also before the time that it covers', async () => {
  // Of payment 2: 8000 + 1000, then 4000 + 1000, without the 5000 that failed in between.
  const approved = await replay({ approvalAbove: { api: 8_000 } });
  expect(idsOf(approved, 'approval_required')).toEqual([ids.first]);
  const capped = await replay({ maxAmount: { amount: 4_999, currency: 'usd' }, enforce });
  // Of payment 3: 4000 had not failed yet when 2000 more were requested.
  expect(idsOf(capped, 'blocked')).toEqual([ids.beforeFailure, ids.second, ids.first]);
});

test('a replay, which names refunds, is refused for a key that may not read them', async () => {
  const policies = [{ name: 'All', priority: 1, finalSale: true, enforce }];
  const ask = async (scopes: ApiKeyScope[]) => {
    const { plaintext: key } = await service.newKey({ scopes });
    const { status, body } = await service.call('POST', '/v1/policies/replay', { key, body: { policies } });
    return [status, JSON.stringify(body).includes(ids.gift ?? '')];
  };
  expect(await ask(['policies:read'])).toEqual([403, false]);
  expect(await ask(['policies:read', 'refunds:read'])).toEqual([200, true]);
});

test('a replay counts what the organization and the requester had requested in the 24 hours before', async () => {
  const perDay = await replay({ velocity: { perDay: { count: 2 } }, enforce });
  expect(idsOf(perDay, 'blocked')).toEqual([]);
  const perDayOfOne = await replay({ velocity: { perDay: { count: 1 } }, enforce });
  expect(idsOf(perDayOfOne, 'blocked')).toEqual([ids.afterFailure, ids.beforeFailure]);
  const perRequester = await replay({ velocity: { perRequesterDay: { count: 1 } }, enforce });
  expect(idsOf(perRequester, 'blocked')).toEqual([]);
});

test('a replay knows the reason, the metadata and whether an agent asked, and compares with the policies of today', async () => {
  const gifts = { match: { metadata: { kind: 'gift_card' } }, finalSale: true };
  const denied = await replay(gifts);
  expect(idsOf(denied, 'not_blocked')).toEqual([ids.gift]);
  expect(denied).toMatchObject({ refundCount: 7, skippedCount: 1, changedCount: 1, isCutOff: false });
  expect(denied.current).toEqual({ allowed: 7, not_blocked: 0, approval_required: 0, blocked: 0 });
  // Agents are always blocked.
  expect(idsOf(await replay({ finalSale: true }), 'blocked')).toEqual([ids.agent]);
  const same = await replay({ ...gifts, enforce }, { ...gifts, enforce });
  expect(same.changedCount).toBe(0);
  expect(same.affected).toMatchObject([{ current: 'blocked', proposed: 'blocked', policyName: 'All' }]);
  const byReason = await replay({ match: { reasons: ['duplicate_charge'] }, approvalAbove: { api: 0 } });
  expect(idsOf(byReason, 'approval_required')).toEqual([ids.gift]);
});

test('a replay covers the newest refunds of one environment, and says when there are more', async () => {
  const all = await replay({ finalSale: true, enforce }, {}, 7);
  expect(all).toMatchObject({ refundCount: 6, skippedCount: 1, isCutOff: true });
  expect(idsOf(all, 'blocked')).not.toContain(ids.first);
  expect(idsOf(all, 'blocked')).not.toContain(unlike);
  // What came before still counts.
  const capped = await replay({ maxAmount: { amount: 4_999, currency: 'usd' }, enforce }, {}, 7);
  expect(idsOf(capped, 'blocked')).toEqual([ids.beforeFailure, ids.second]);
});

test('replays of an organization take turns, and one that does not end holds up no other organization', async () => {
  const replays = openFairLimit({ inAll: 2, perOwner: 1 });
  const deps = { ...service.deps, replays };
  const sets = { current: [], proposed: [] };
  const ended: string[] = [];
  let end = () => {};
  const endless = replays(
    owner().organizationId,
    () =>
      new Promise<void>((resolve) => {
        end = resolve;
      }),
  );
  const own = Array.from({ length: 8 }, async () => {
    await replayPolicies(deps, owner(), sets);
    ended.push('own');
  });
  const { id } = await service.addOrganization('A neighbour');
  await replayPolicies(deps, { organizationId: id, environment: 'test' }, sets);
  ended.push('neighbour');
  end();
  await Promise.all([endless, ...own]);
  expect(ended).toEqual(['neighbour', ...Array(8).fill('own')]);
});

test('the operation replays policies that are not saved beside those of the organization', async () => {
  const policies = [{ name: 'Two weeks', priority: 1, windowDays: 14, enforce }];
  const { status, body } = await service.call('POST', '/v1/policies/replay', { body: { policies } });
  expect(status).toBe(200);
  expect(body.data).toMatchObject({
    ...{ refundCount: 7, changedCount: 6 },
    // The default policy allows 30 days and blocks agents alone.
    current: { allowed: 0, not_blocked: 6, approval_required: 0, blocked: 1 },
    proposed: { allowed: 0, not_blocked: 0, approval_required: 0, blocked: 7 },
  });
  expect(body.data.refunds[0]).toEqual({
    ...{ id: ids.gift, transactionId: 'ch_5', amount: 1_000, currency: 'usd', status: 'completed' },
    ...{ createdAt: expect.any(String), current: 'not_blocked', proposed: 'blocked', policy: 'Two weeks' },
    reason: expect.stringContaining('The refund window of 14 days'),
  });
  const invalid = { policies: [{ name: 'A', priority: -1 }] };
  const refused = await service.call('POST', '/v1/policies/replay', { body: invalid });
  expect(refused.status).toBe(400);
  expect(refused.body.error.message).toBe('policies.0.priority: must be a whole number from 0 to 1000000');
});
