import { afterEach, describe, expect, test } from 'vitest';
import { agentScopes, createApiKey } from '#shared/organizations/api-keys.ts';
import { setPolicies } from '#shared/policies/stored-policies.ts';
import { rejectRefund } from '#shared/refunds/decisions/approve.ts';
import { newPerson } from '../../support/people.ts';
import { expectInvariants } from '../../support/refunds/invariants.ts';
import { newPayment } from '../../support/refunds/payments.ts';
import { refundRequest } from '../../support/refunds/refund-requests.ts';
import { storePolicies } from '../../support/refunds/stored-policies.ts';
import { outcomeOf } from '../../support/refunds/two-processes.ts';
import { useService } from '../../support/use-service.ts';

// Someone who may refund takes many small amounts of many payments, each below what a payment's threshold notices.
const service = useService({ workers: 0 });
afterEach(() => expectInvariants(service));

const everyone = (amount: number) => ({ api: amount, dashboard: amount, mcp: amount });
const enforce = { api: true, dashboard: true };

/** Asks for 10.00 USD of a payment; returns the status of the refund, or the code of the refusal. */
type Ask = (transactionId: string) => Promise<string>;

async function newKey(actor: string, scopes = agentScopes) {
  const { id: organizationId } = service.organization;
  return await createApiKey(service.deps, { organizationId, environment: 'test', actor, scopes });
}

/** @param actor who creates the key; a new person by default. */
async function byKey(actor?: string): Promise<Ask> {
  const { id } = await newKey(actor ?? (await newUser()));
  const asker = { apiKey: { id, agentLimits: null }, initiatedBy: 'api', actor: `key:${id}` } as const;
  return async (transactionId) => await outcomeOf(service, refundRequest(service, transactionId, asker));
}

function byPerson(actor: string): Ask {
  const asker = { apiKey: null, initiatedBy: 'dashboard', actor } as const;
  return async (transactionId) => await outcomeOf(service, refundRequest(service, transactionId, asker));
}

async function newUser(): Promise<string> {
  const { userId } = await newPerson(service.deps, service.organization.id, 'admin');
  return `user:${userId}`;
}

const payments = (count: number) => Promise.all(Array.from({ length: count }, () => newPayment(service)));

async function oneByOne(ask: Ask, count: number): Promise<string[]> {
  const outcomes: string[] = [];
  for (const payment of await payments(count)) outcomes.push(await ask(payment));
  return outcomes;
}

const repeated = (...parts: [count: number, outcome: string][]) =>
  parts.flatMap(([count, outcome]) => Array.from({ length: count }, () => outcome));

describe('a requester', () => {
  test('is a person with all their keys, and the keys that those created', async () => {
    await storePolicies(service, { approvalAbovePerRequesterDay: everyone(3_000) });
    const ada = await newUser();
    const manager = await newKey(ada, agentScopes);
    const ways = [
      byPerson(ada),
      await byKey(ada),
      await byKey(ada),
      await byKey(`key:${manager.id}`),
      byPerson(ada),
      await byKey(ada),
    ];
    const outcomes: string[] = [];
    for (const ask of ways) outcomes.push(...(await oneByOne(ask, 1)));
    expect(outcomes).toEqual(repeated([3, 'processing'], [3, 'pending']));
  });

  test('is not charged with what others requested', async () => {
    await storePolicies(service, { approvalAbovePerRequesterDay: everyone(1_000) });
    const [ada, grace] = [await newUser(), await newUser()];
    // Keys of the command line count each for itself.
    const ways = [
      ...[byPerson(ada), byPerson(grace)],
      ...[await byKey(), await byKey('cli:root'), await byKey('cli:root')],
    ];
    for (const ask of ways) expect(await oneByOne(ask, 2)).toEqual(['processing', 'pending']);
  });

  test('is counted separately in every organization and environment', async () => {
    const { id: foreignId } = await service.addOrganization('Other');
    const policies = [{ name: 'Shop', priority: 1, approvalAbovePerRequesterDay: everyone(1_000) }];
    for (const organizationId of [service.organization.id, foreignId]) {
      await setPolicies(service.deps, { organizationId, file: { policies }, actor: 'test' });
    }
    const asker = { apiKey: null, initiatedBy: 'dashboard', actor: await newUser() } as const;
    for (const where of [{ environment: 'live' }, { organizationId: foreignId }, {}] as const) {
      const outcomes: string[] = [];
      for (let round = 0; round < 2; round += 1) {
        const payment = await newPayment(service, 'environment' in where ? where : {});
        outcomes.push(await outcomeOf(service, refundRequest(service, payment, { ...asker, ...where })));
      }
      expect(outcomes, JSON.stringify(where)).toEqual(['processing', 'pending']);
    }
  });

  test('gets back what is rejected, and not what awaits approval', async () => {
    await storePolicies(service, {
      approvalAbovePerRequesterDay: everyone(1_000),
      velocity: limitOf(3_000),
      enforce,
    });
    const ask = byPerson(await newUser());
    const [first = '', ...more] = await payments(3);
    expect(await ask(first)).toBe('processing');
    for (const payment of more) expect(await ask(payment)).toBe('pending');
    expect(await oneByOne(ask, 1)).toEqual(['policy_denied']);
    const refund = await service.deps.db.refund.findFirstOrThrow({ where: { transactionId: more[0] ?? '' } });
    await rejectRefund(service.deps, refund, 'user:usr_other', null);
    expect(await oneByOne(ask, 2)).toEqual(['pending', 'policy_denied']);
  });

  test('can request again after 24 hours', async () => {
    await storePolicies(service, { approvalAbovePerRequesterDay: everyone(1_000) });
    const ask = byPerson(await newUser());
    const [first = ''] = await payments(1);
    await ask(first);
    expect(await oneByOne(ask, 1)).toEqual(['pending']);
    await service.deps.db.$executeRaw`UPDATE refund SET created_at = created_at - interval '24 hours'`;
    expect(await oneByOne(ask, 2)).toEqual(['processing', 'pending']);
  });
});

const limitOf = (amount: number) => ({ perRequesterDay: { amount } });
