import { expect, test, vi } from 'vitest';
import type { PolicyInput } from '#shared/policies/policy.ts';
import { newPerson } from '../../support/people.ts';
import { newPayment } from '../../support/refunds/payments.ts';
import { agentKey, refundRequest } from '../../support/refunds/refund-requests.ts';
import { storePolicies } from '../../support/refunds/stored-policies.ts';
import { outcomeOf, useTwoProcesses } from '../../support/refunds/two-processes.ts';

const { service, other } = useTwoProcesses();

/** Lets this many requests reach the statement that records them before the first of them does. */
function recordTogether(count: number): void {
  let waiting = 0;
  let release = () => {};
  const released = new Promise<void>((resolve) => {
    release = resolve;
  });
  for (const { statements } of [service.deps, other.deps]) {
    const create = statements.create;
    vi.spyOn(statements, 'create').mockImplementation(async (item) => {
      waiting += 1;
      if (waiting >= count) release();
      await released;
      return await create(item);
    });
  }
}

const byPerson = async () => {
  const { userId } = await newPerson(service.deps, service.organization.id, 'admin');
  return { apiKey: null, initiatedBy: 'dashboard', actor: `user:${userId}` } as const;
};

const everyone = { api: 5_000, dashboard: 5_000 };
const enforce = { api: true, dashboard: true };
const velocity = (limits: PolicyInput['velocity']) => ({ velocity: limits, enforce });

/** The ids that twenty refunds name. */
const targets = {
  'by both ids of a payment': async () => {
    const charge = await newPayment(service, { amount: 100_000 });
    return Array.from({ length: 20 }, (_, index) => (index % 2 === 0 ? charge : `pi_${charge.slice(3)}`));
  },
  'of twenty payments': () => Promise.all(Array.from({ length: 20 }, () => newPayment(service))),
};

test.each<
  [string, keyof typeof targets, Partial<PolicyInput>, Parameters<typeof agentKey>[1] | null, string]
>([
  ['threshold', 'by both ids of a payment', { approvalAbove: everyone }, null, 'pending'],
  ['limit', 'by both ids of a payment', velocity({ perTransaction: 5 }), null, 'policy_denied'],
  ["key's threshold", 'by both ids of a payment', {}, { approvalAbove: 5_000 }, 'pending'],
  ["key's limit", 'by both ids of a payment', {}, { maxPerPayment: 5_000 }, 'policy_denied'],
  ["key's limit", 'of twenty payments', {}, { maxPerDay: 5_000 }, 'policy_denied'],
  [
    "requester's threshold",
    'of twenty payments',
    { approvalAbovePerRequesterDay: everyone },
    null,
    'pending',
  ],
  [
    "requester's limit",
    'of twenty payments',
    velocity({ perRequesterDay: { amount: 5_000 } }),
    null,
    'policy_denied',
  ],
  [
    "requester's number",
    'of twenty payments',
    velocity({ perRequesterDay: { count: 5 } }),
    null,
    'policy_denied',
  ],
  ["organization's number", 'of twenty payments', velocity({ perDay: { count: 5 } }), null, 'policy_denied'],
  [
    "organization's limit",
    'of twenty payments',
    velocity({ perDay: { amount: 5_000 } }),
    null,
    'policy_denied',
  ],
])(
  'twenty refunds at once in two processes pass a %s five times %s',
  async (_what, how, policy, limits, otherwise) => {
    // Those of other tests are older.
    await service.deps.db.$executeRaw`UPDATE refund SET created_at = created_at - interval '24 hours'`;
    await storePolicies(service, policy);
    const by = limits === null ? await byPerson() : { apiKey: await agentKey(service, limits) };
    const requests = (await targets[how]()).map((id) => refundRequest(service, id, by));
    recordTogether(20);
    const outcomes = await Promise.all(
      requests.map((asked, index) => outcomeOf(index % 4 < 2 ? service : other, asked)),
    );
    expect(outcomes.filter((each) => each === 'processing')).toHaveLength(5);
    expect(outcomes.filter((each) => each === otherwise)).toHaveLength(15);
  },
);

const keysOfOnePerson = async () => {
  const { actor } = await byPerson();
  const limits = { maxPerDay: 2_000 };
  return await Promise.all([1, 2, 3].map(async () => ({ apiKey: await agentKey(service, limits, actor) })));
};

test.each([
  [
    'people',
    velocity({ perRequesterDay: { amount: 2_000 } }),
    () => Promise.all([byPerson(), byPerson(), byPerson()]),
  ],
  ['keys of one person', {}, keysOfOnePerson],
])('requests of several %s at once leave each of them the whole limit', async (_whose, policy, threeOf) => {
  await storePolicies(service, policy);
  const requesters = await threeOf();
  const asked = await Promise.all(
    [...requesters, ...requesters].map(async (by) => refundRequest(service, await newPayment(service), by)),
  );
  recordTogether(6);
  const outcomes = await Promise.all(asked.map((each) => outcomeOf(service, each)));
  expect(new Set(outcomes)).toEqual(new Set(['processing']));
});

test('refunds of an organization at once are decided once each while they stay within all limits', async () => {
  const twenty = { count: 20, amount: 20_000 };
  await service.deps.db.$executeRaw`UPDATE refund SET created_at = created_at - interval '24 hours'`;
  await storePolicies(service, {
    ...velocity({ perTransaction: 20, perDay: twenty, perRequesterDay: twenty }),
    maxAmount: { amount: 20_000, currency: 'usd' },
  });
  const apiKey = await agentKey(service, { maxPerDay: 20_000, maxPerPayment: 20_000 });
  const requests = (await targets['by both ids of a payment']()).map((id) =>
    refundRequest(service, id, { apiKey }),
  );
  recordTogether(20);
  const outcomes = await Promise.all(
    requests.map((asked, index) => outcomeOf(index % 4 < 2 ? service : other, asked)),
  );
  expect(new Set(outcomes)).toEqual(new Set(['processing']));
  const recorded = [service, other].flatMap(({ deps }) => vi.mocked(deps.statements.create).mock.calls);
  expect(recorded).toHaveLength(20);
});
