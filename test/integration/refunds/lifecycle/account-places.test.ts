import { afterAll, afterEach, beforeAll, beforeEach, expect, test, vi } from 'vitest';
import { closeDependencies, type Dependencies, openDependencies } from '#shared/dependencies.ts';
import { openLog } from '#shared/platform/log.ts';
import { recordStep } from '#shared/refunds/lifecycle/record.ts';
import type { Claim } from '#shared/refunds/lifecycle/statements.ts';
import { holdCalls } from '#test/support/processors/around-calls.ts';
import { newRefund } from '#test/support/refunds/new-refund.ts';
import { untilCompleted } from '#test/support/refunds/refund-records.ts';
import type { TestOrganization } from '#test/support/service.ts';
import { useService } from '#test/support/use-service.ts';
import { waitFor } from '#test/support/wait-for.ts';
import { startWorkers } from '#worker/start-workers.ts';

const limit = 4;
const service = useService({
  workers: 0,
  settings: {
    WORKER_CONCURRENCY: 6,
    PROCESSOR_ACCOUNT_CONCURRENCY: limit,
    PROCESSOR_ACCOUNT_CALLS_PER_SECOND: 0,
  },
});

/** Of another worker process. */
let elsewhere: Dependencies;
let other: TestOrganization;
beforeAll(async () => {
  elsewhere = openDependencies(service.settings, openLog('silent', 'elsewhere'));
  other = await service.addOrganization('Other');
});
afterAll(() => closeDependencies(elsewhere));

beforeEach(async () => {
  await service.sandbox.settings({ autoSettleMs: 0 });
  vi.spyOn(service.deps.queues, 'wake').mockImplementation(() => {});
});
afterEach(async () => {
  vi.restoreAllMocks();
  await service.deps.db.refundWork.deleteMany();
});

async function acceptOfOther(): Promise<string> {
  return (await newRefund(service, { processor: 'stripe' }, { key: other.keys.test.plaintext })).id;
}

/** Makes 2,000 refunds of the service's organization due at one moment, as the end of an outage does. */
async function flood(): Promise<void> {
  const { db } = service.deps;
  const { id } = await newRefund(service);
  await db.$executeRaw`
    INSERT INTO refund (id, account_id, organization_id, environment, transaction_id, payment_id, processor, amount, currency, reason, status,
      initiated_by, requester, created_at, updated_at)
    SELECT 'ref_flood' || n, account_id, organization_id, environment, transaction_id, payment_id, processor, 1, 'usd', 'other',
      'processing', 'api', requester, created_at, updated_at
    FROM refund, generate_series(1, 1999) AS n WHERE refund.id = ${id} ON CONFLICT DO NOTHING`;
  await db.$executeRaw`
    INSERT INTO refund_work (refund_id, account_id, organization_id, environment, processor, due_at)
    SELECT id, account_id, organization_id, environment, processor, service_time() FROM refund WHERE id LIKE 'ref_flood%'`;
}

/** Accounts with refunds that are due in an hour. */
async function addIdleAccounts(count: number): Promise<void> {
  const { db } = service.deps;
  await db.$executeRaw`
    INSERT INTO processor_account (id, organization_id, environment, processor, name, encrypted_credentials, encryption_key_id, updated_at)
    SELECT 'acc_idle' || lpad(n::text, 4, '0'), organization_id, environment, processor, 'idle-' || n, encrypted_credentials,
      encryption_key_id, updated_at
    FROM processor_account, generate_series(1, ${count}) AS n WHERE id = ${service.organization.accounts.test.stripe}`;
  await db.$executeRaw`
    UPDATE refund_work SET account_id = 'acc_idle' || lpad(each.n::text, 4, '0'), due_at = service_time() + interval '1 hour'
    FROM (SELECT id, row_number() OVER () AS n FROM refund WHERE id LIKE 'ref_flood%' LIMIT ${count}) AS each
    WHERE refund_id = each.id`;
}

/** Three refunds for each of some connected accounts. */
async function acceptOfSellers(count: number): Promise<void> {
  for (let seller = 1; seller <= count; seller += 1) {
    const charge = {
      processor: 'stripe',
      amount: 10_000,
      currency: 'usd',
      connectedAccount: `acct_seller${seller}`,
    };
    const transactionId = await service.sandbox.transaction(charge);
    const { connectedAccount } = charge;
    for (let refund = 1; refund <= 3; refund += 1)
      await newRefund(service, { transactionId, connectedAccount });
  }
}

async function claim(deps: Dependencies, most: number): Promise<Claim[]> {
  return (await deps.statements.claimDue('stripe', most)).claims;
}

const idsOf = (claims: readonly Claim[]) => claims.map(({ refund }) => refund.id);

/** Records of a claim only when the refund is due again. */
async function end(claimed: Claim | undefined, dueInMs: number): Promise<string> {
  if (claimed === undefined) throw new Error('Nothing was claimed.');
  const { result } = await recordStep(service.deps, claimed, { kind: 'unchanged', dueInMs });
  return result;
}

test('while 2,000 refunds of an organization are due, one of another that is created later is claimed in the next look', async () => {
  await flood();
  expect(await claim(service.deps, 2)).toHaveLength(2);
  const [first, second] = [await acceptOfOther(), await acceptOfOther()];
  expect(idsOf(await claim(service.deps, 1))).toEqual([first]);
  expect(idsOf(await claim(elsewhere, 2))).toContain(second);
  // And then the flood goes on.
  expect(await claim(service.deps, 6)).toHaveLength(1);
});

test('among 400 accounts that wait for later, the flood is claimed in each look, and the other refund within three', async () => {
  await flood();
  await addIdleAccounts(400);
  for (const deps of [service.deps, elsewhere, service.deps]) expect(await claim(deps, 1)).toHaveLength(1);
  await claim(service.deps, 6);
  const id = await acceptOfOther();
  const claimed: Claim[] = [];
  for (let look = 1; look <= 3; look += 1) claimed.push(...(await claim(service.deps, 6)));
  expect(idsOf(claimed)).toEqual([id]);
});

test('two workers together claim no more of an account than its places, while the rest is waiting', async () => {
  await flood();
  const looks = Array.from({ length: 6 }, (_, index) => claim(index % 2 === 0 ? service.deps : elsewhere, 3));
  const claimed = (await Promise.all(looks)).flat();
  expect(new Set(idsOf(claimed)).size).toBe(limit);
  for (const deps of [service.deps, elsewhere]) {
    expect(await deps.statements.claimDue('stripe', 3)).toEqual({
      claims: [],
      isMore: false,
      isWaiting: true,
    });
  }
  await end(claimed[0], 60_000);
  expect((await Promise.all([claim(service.deps, 3), claim(elsewhere, 3)])).flat()).toHaveLength(1);
});

test('refunds of connected accounts get the turns and the places of one account, in which these accounts take turns', async () => {
  await acceptOfSellers(6);
  const others = [await acceptOfOther(), await acceptOfOther(), await acceptOfOther()];
  const claimed = await claim(service.deps, 6);
  expect(claimed).toHaveLength(6);
  expect(idsOf(claimed)).toEqual(expect.arrayContaining(others));
  claimed.push(...(await claim(elsewhere, 6)));
  const ofSellers = claimed.filter(({ refund }) => refund.isConnected);
  expect(ofSellers).toHaveLength(limit);
  expect(new Set(ofSellers.map(({ refund }) => refund.accountId)).size).toBe(limit);
});

test('two workers that look all the time make no more calls per second to an account than it gets, and another account goes on', async () => {
  const perSecond = 20;
  const settings = {
    ...service.settings,
    PROCESSOR_ACCOUNT_CONCURRENCY: 40,
    PROCESSOR_ACCOUNT_CALLS_PER_SECOND: perSecond,
  };
  const workers = [1, 2].map((worker) => openDependencies(settings, openLog('silent', `worker ${worker}`)));
  await flood();
  const calledAtMs: number[] = [];
  while (calledAtMs.length < perSecond) {
    const claimed = (await Promise.all(workers.map((worker) => claim(worker, 40)))).flat();
    calledAtMs.push(...claimed.map(({ now }) => now.getTime()));
  }
  for (const [index, atMs] of calledAtMs.entries()) {
    const inWindow = calledAtMs.slice(index).filter((each) => each <= atMs + 500).length;
    expect(inWindow).toBeLessThanOrEqual(perSecond / 5 + perSecond / 2 + 1);
  }
  const id = await acceptOfOther();
  const others = (await Promise.all(workers.map((worker) => claim(worker, 40)))).flat();
  expect(idsOf(others)).toContain(id);
  await Promise.all(workers.map(closeDependencies));
});

test('calls that were counted before the clock of the database was set back stop no account', async () => {
  const settings = { ...service.settings, PROCESSOR_ACCOUNT_CALLS_PER_SECOND: 20 };
  const worker = openDependencies(settings, openLog('silent', 'worker'));
  await flood();
  // Calls of the test before it.
  await service.ownerDb.$executeRaw`DELETE FROM operation_calls`;
  expect(await claim(worker, 3)).toHaveLength(3);
  await service.ownerDb.$executeRaw`UPDATE operation_calls SET spent_until = spent_until + interval '1 hour'`;
  expect(await claim(worker, 3)).not.toEqual([]);
  // They count as before.
  expect(await claim(worker, 40)).not.toHaveLength(40);
  await closeDependencies(worker);
});

test('a refund keeps its place from one step to the next', async () => {
  await flood();
  const [claimed] = await claim(service.deps, limit);
  expect(await end(claimed, 0)).toBe('due');
  expect(await service.deps.statements.claim(claimed?.refund.id ?? '')).not.toBeNull();
  expect(await claim(elsewhere, limit)).toEqual([]);
});

test('what is recorded late as due before them takes no place of those under lease', async () => {
  await flood();
  await claim(service.deps, limit);
  await service.deps.db.$executeRaw`
    UPDATE refund_work SET due_at = due_at - interval '1 second'
    WHERE refund_id = ANY (ARRAY(SELECT refund_id FROM refund_work WHERE leased_until IS NULL LIMIT 100))`;
  expect(await claim(elsewhere, limit)).toEqual([]);
});

test('calls that hang at one account hold its places, while refunds of another at the processor complete', async () => {
  const held = holdCalls(
    service,
    'createRefund',
    ({ organizationId }) => organizationId === service.organization.id,
  );
  const hanging: string[] = [];
  for (let count = 0; count < 3 * limit; count += 1) hanging.push((await newRefund(service)).id);
  const workers = [startWorkers(service.deps), startWorkers(service.deps)];
  await waitFor('the places of the account to be taken', () => held.underWay() === limit);
  await untilCompleted(service, [await acceptOfOther(), await acceptOfOther()]);
  expect(held.underWay()).toBe(limit);
  held.release();
  await untilCompleted(service, hanging);
  expect(held.mostUnderWay()).toBe(limit);
  await Promise.all(workers.map((worker) => worker.close()));
});
