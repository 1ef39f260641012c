import { afterAll, afterEach, beforeAll, beforeEach, expect, test, vi } from 'vitest';
import { closeDependencies, type Dependencies, openDependencies } from '#shared/dependencies.ts';
import { openLog } from '#shared/platform/log.ts';
import { type AccountName, withoutCredentials } from '#shared/processors/accounts/account.ts';
import { setCallsPerSecond } from '#shared/processors/accounts/account-settings.ts';
import { noteRateLimit, partOfRate } from '#shared/processors/accounts/rate-limits.ts';
import type { Claim } from '#shared/refunds/lifecycle/statements.ts';
import { HeldTime } from '#test/support/clocks.ts';
import { paused } from '#test/support/processors/paused.ts';
import { newRefund } from '#test/support/refunds/new-refund.ts';
import { newPayment } from '#test/support/refunds/payments.ts';
import { rowOf } from '#test/support/refunds/refund-records.ts';
import { useService } from '#test/support/use-service.ts';

const places = 40;
const time = new HeldTime();
const service = useService({
  workers: 0,
  settings: { PROCESSOR_ACCOUNT_CALLS_PER_SECOND: 20, PROCESSOR_ACCOUNT_CONCURRENCY: places },
  overrides: { clock: time },
});

/** Of another worker process. */
let elsewhere: Dependencies;
beforeAll(async () => {
  elsewhere = openDependencies(service.settings, openLog('silent', 'elsewhere'));
  await time.hold(service.ownerDb);
});
afterAll(() => closeDependencies(elsewhere));

beforeEach(async () => {
  vi.spyOn(service.deps.queues, 'wake').mockImplementation(() => {});
  // All calls of the test before have been forgotten by then.
  await time.advance(service.ownerDb, 120_000);
});
afterEach(async () => {
  vi.restoreAllMocks();
  await service.deps.db.refundWork.deleteMany();
  await service.deps.db.processorAccount.updateMany({ data: { rateLimits: {}, callsPerSecond: null } });
});

/** Refunds of one account that are due, to be sent unless they are at the processor. */
async function due(count: number, externalRefundId: string | null = null): Promise<void> {
  const { db } = service.deps;
  const { id } = await newRefund(service);
  await db.refundWork.deleteMany({ where: { refundId: id } });
  await db.$executeRaw`
    WITH made AS (
      INSERT INTO refund (id, account_id, organization_id, environment, transaction_id, payment_id, processor, amount, currency, reason, status,
        initiated_by, requester, external_refund_id, created_at, updated_at)
      SELECT id || n, account_id, organization_id, environment, transaction_id, payment_id, processor, 1, 'usd', 'other', 'processing', 'api',
        requester, ${externalRefundId} || n, created_at, updated_at
      FROM refund, generate_series(1, ${count}) AS n WHERE refund.id = ${id}
      RETURNING id, account_id, organization_id, environment, processor
    )
    INSERT INTO refund_work (refund_id, account_id, organization_id, environment, processor, due_at)
    SELECT *, service_time() FROM made`;
}

async function claim(deps: Dependencies = service.deps): Promise<Claim[]> {
  return (await deps.statements.claimDue('stripe', 50)).claims;
}

const stepsOf = (claims: readonly Claim[]) => claims.map(({ step }) => step);
const pass = (ms: number) => time.advance(service.ownerDb, ms);

async function account(): Promise<AccountName> {
  const { id: organizationId } = service.organization;
  const where = { organizationId, environment: 'test', processor: 'stripe' } as const;
  return await service.deps.db.processorAccount.findFirstOrThrow({ where, omit: withoutCredentials });
}

const setAccount = async (data: { rateLimits?: Record<string, object>; callsPerSecond?: number }) =>
  service.deps.db.processorAccount.update({ where: { id: (await account()).id }, data });

test('two workers together get a fifth of a second of calls at once, and then the rate', async () => {
  await due(60);
  const claimed = await Promise.all([claim(), claim(elsewhere)]);
  expect(claimed.flat()).toHaveLength(4);
  expect(await service.deps.statements.claimDue('stripe', 50)).toEqual({
    ...{ claims: [], isMore: false, isWaiting: true },
  });
  await pass(100);
  expect([...(await claim()), ...(await claim(elsewhere))]).toHaveLength(2);
  await pass(10_000);
  expect(await claim()).toHaveLength(4);
});

test('a refund at the processor is read while a backlog waits to be sent, and holds a place of the account', async () => {
  await due(400);
  expect(stepsOf(await claim())).toEqual(Array(4).fill('send'));
  await pass(1);
  await due(1, 're_open');
  const [read, ...others] = await claim();
  expect([read?.step, others]).toEqual(['settle', []]);
  await service.deps.db.$executeRaw`
    UPDATE refund_work SET leased_until = service_time() + interval '1 minute', lease_token = 1
    WHERE refund_id = ANY (ARRAY(SELECT refund_id FROM refund_work WHERE leased_until IS NULL ORDER BY due_at, refund_id LIMIT ${places - 5}))`;
  await pass(1_000);
  expect(await claim()).toEqual([]);
});

test('each environment has the rate of its account', async () => {
  const { db } = service.deps;
  const { id: organizationId, keys } = service.organization;
  const ofTest = await newRefund(service);
  const ofLive = await newRefund(
    service,
    { transactionId: 'ch_ofthelivemode' },
    { key: keys.live.plaintext },
  );
  const rates = async () => {
    const ids = [ofTest.id, ofLive.id];
    const rows = await db.$queryRaw<{ rate: number }[]>`
      SELECT rate FROM refund_calls(${ids}, '{"live": 7, "test": 3}', service_time()) ORDER BY turn`;
    return rows.map(({ rate }) => rate);
  };
  expect(await rates()).toEqual([3, 7]);
  const account = { organizationId, processor: 'stripe', actor: 'test' };
  await setCallsPerSecond(service.deps, { ...account, environment: 'live', callsPerSecond: 11 });
  expect(await rates()).toEqual([3, 11]);
  await setCallsPerSecond(service.deps, { ...account, environment: 'test', callsPerSecond: 5 });
  expect(await rates()).toEqual([5, 11]);
});

test('a claim by its id counts as well, and waits for the rate', async () => {
  await due(5);
  expect(await claim()).toHaveLength(4);
  const { refundId } = await service.deps.db.refundWork.findFirstOrThrow({ where: { leasedUntil: null } });
  expect(await service.deps.statements.claim(refundId)).toBeNull();
  await pass(50);
  expect(await service.deps.statements.claim(refundId)).toMatchObject({ step: 'send' });
});

test.each([
  [100, 20],
  [0, places],
])('an account with its own rate of %i gets %i calls at once', async (callsPerSecond, calls) => {
  await setAccount({ callsPerSecond });
  await due(60);
  expect(await claim()).toHaveLength(calls);
});

test('a short pause keeps the places of what is due, and other operations go on', async () => {
  await due(3);
  await due(1, 're_open');
  await setAccount({ rateLimits: paused(new Date(time.now().getTime() + 500), 'createRefund') });
  expect(stepsOf(await claim())).toEqual(['settle']);
  await pass(500);
  expect(stepsOf(await claim())).toEqual(['send', 'send', 'send']);
});

test('a 429 slows its operation to three quarters, which grow back within a minute', async () => {
  const { id } = await account();
  const parts = async () => {
    const known = await account();
    const [stored] = await service.deps.db.$queryRaw<{ part: number }[]>`
      SELECT operation_rate(1, rate_limits->'createRefund', service_time()) AS part FROM processor_account WHERE id = ${id}`;
    const part = partOfRate(known, 'createRefund', time.now());
    expect(part).toBeCloseTo(stored?.part ?? 0, 9);
    return Number(part.toFixed(3));
  };
  expect(await parts()).toBe(1);
  await noteRateLimit(service.deps, id, 'createRefund', null);
  // Of calls that were under way together.
  await noteRateLimit(service.deps, id, 'createRefund', null);
  expect(await parts()).toBe(0.75);
  await pass(30_000);
  expect(await parts()).toBe(0.875);
  await pass(30_000);
  expect(await parts()).toBe(1);
  for (let times = 1; times <= 20; times += 1) {
    await pass(1_001);
    await noteRateLimit(service.deps, id, 'createRefund', null);
  }
  expect(await parts()).toBe(0.05);
  // The clock of the database was set back.
  await pass(-3_600_000);
  expect(await parts()).toBe(1);
  expect(partOfRate(await account(), 'getRefund', time.now())).toBe(1);
});

test('a pause lasts as long as the processor asks for, up to an hour, and is not cut short by one that ends earlier', async () => {
  const { id } = await account();
  const untilMs = async (retryAfterMs: number | null) => {
    const known = (await noteRateLimit(service.deps, id, 'getPayment', retryAfterMs)) as {
      getPayment: { pausedUntil: string };
    };
    return Date.parse(known.getPayment.pausedUntil) - time.now().getTime();
  };
  const short = await untilMs(null);
  expect(short).toBeGreaterThanOrEqual(250);
  expect(short).toBeLessThanOrEqual(500);
  expect(await untilMs(90_000)).toBe(90_000);
  expect(await untilMs(null)).toBe(90_000);
  expect(await untilMs(86_400_000)).toBe(3_600_000);
});

test('while sends are paused, a payment is read for a creation; while these reads are, the creation is accepted unread', async () => {
  const create = async (transactionId: string, amount: number) => {
    const body = { transactionId, amount, reason: 'other' };
    return await service.call('POST', '/v1/refunds', { body, headers: { prefer: 'respond-async' } });
  };
  const [first, second] = [await newPayment(service), await newPayment(service)];
  const until = new Date(time.now().getTime() + 60_000);
  await setAccount({ rateLimits: paused(until, 'createRefund') });
  expect((await create(first, 100_000_000)).body.error.code).toBe('validation_error');
  await setAccount({ rateLimits: paused(until, 'getPayment') });
  const { status, body } = await create(second, 100);
  expect([status, body.data.status]).toEqual([200, 'processing']);
  // The worker reads it once it may.
  await claim();
  expect((await rowOf(service, body.data.id)).work).toMatchObject({
    dueAt: until,
    waitingFor: 'rate_limited',
  });
  await pass(60_000);
  expect(stepsOf(await claim())).toEqual(['verify']);
});
