import { beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { setPolicies } from '#shared/policies/stored-policies.ts';
import type { Agent } from '../../support/agents/agent.ts';
import { useAgents } from '../../support/agents/use-agents.ts';
import { HeldTime } from '../../support/clocks.ts';
import { newPayment } from '../../support/refunds/payments.ts';
import { useService } from '../../support/use-service.ts';

const time = new HeldTime();
// No worker: what counts is which refunds are recorded.
const service = useService({ workers: 0, settings: { CREATE_WAIT_MS: 0 }, overrides: { clock: time } });
const agents = useAgents(service);
/** Refunds are possible at any time. */
const anyTime = { name: 'Any time', priority: 1 };
const setRules = (organizationId: string, rules: object) =>
  setPolicies(service.deps, {
    organizationId,
    file: { policies: [{ ...anyTime, ...rules }] },
    actor: 'test',
  });
beforeAll(async () => {
  await time.hold(service.ownerDb);
  await setRules(service.organization.id, {});
});

const dayMs = 24 * 60 * 60 * 1000;

let agent: Agent;
let args: Record<string, unknown>;
beforeEach(async () => {
  agent = await agents.connect();
  args = { transactionId: await newPayment(service), amount: 1_000, reason: 'other' };
});

/** Creates a refund without an error. */
async function create(changes: Record<string, unknown> = {}, by = agent) {
  const { isError, content } = await by.call('create_refund', { ...args, ...changes });
  expect(isError, JSON.stringify(content)).toBe(false);
  return { id: content.refund.id, replayed: content.replayed, key: content.idempotencyKey };
}

/** The distinct ids of several results, and how many of them created a refund. */
function outcomeOf(results: readonly Awaited<ReturnType<typeof create>>[]) {
  const ids = new Set(results.map(({ id }) => id));
  return { refunds: ids.size, created: results.filter(({ replayed }) => !replayed).length };
}

const countRefunds = async () =>
  await service.deps.db.refund.count({ where: { transactionId: String(args.transactionId) } });
const one = { refunds: 1, created: 1 };

describe('the same call', () => {
  test('three times at once is one refund', async () => {
    expect(outcomeOf(await Promise.all([create(), create(), create()]))).toEqual(one);
    expect(await countRefunds()).toBe(1);
  });

  test('written differently, with what is the default, is one refund', async () => {
    const first = await create({ metadata: { a: 1, b: { c: 2, d: 3 } } });
    const metadata = { b: { d: 3, c: 2 }, a: 1 };
    const again = await create({ metadata, currency: 'USD', processor: 'stripe' });
    expect(again).toEqual({ ...first, replayed: true });
    const without = await create();
    const account = service.organization.accounts.test.stripe;
    for (const same of [
      ...[{ metadata: null }, { metadata: {} }, { options: {} }],
      ...[{ account: 'stripe' }, { account }],
    ]) {
      expect(await create(same)).toEqual({ ...without, replayed: true });
    }
  });

  test('with another account than its refund has asks for an idempotency key, and creates nothing', async () => {
    const first = await create();
    for (const other of [{ account: 'shop-eu' }, { connectedAccount: 'acct_1other' }]) {
      const { isError, content } = await agent.call('create_refund', { ...args, ...other });
      expect([isError, content.code]).toEqual([true, 'validation_error']);
      expect(content.message).toContain(`idempotencyKey: is required, because ${first.id}`);
    }
    expect(await countRefunds()).toBe(1);
  });

  test('24 hours later is another refund, and again after the next 24 hours', async () => {
    const first = await create();
    await time.advance(service.ownerDb, dayMs - 1);
    expect(await create()).toEqual({ ...first, replayed: true });
    await time.advance(service.ownerDb, 1);
    const second = await Promise.all([create(), create(), create()]);
    expect(outcomeOf(second)).toEqual(one);
    expect(second[0]?.id).not.toBe(first.id);
    await time.advance(service.ownerDb, dayMs);
    expect(outcomeOf(await Promise.all([create(), create()]))).toEqual(one);
    expect(await create()).toMatchObject({ replayed: true });
    expect(await countRefunds()).toBe(3);
  });

  test('with the returned idempotency key is the same refund, however late', async () => {
    const first = await create();
    await time.advance(service.ownerDb, 40 * dayMs);
    expect(await create({ idempotencyKey: first.key })).toEqual({ ...first, replayed: true });
    expect(await countRefunds()).toBe(1);
  });

  test('after its refund was cancelled creates nothing until a new idempotency key says that it is wanted', async () => {
    const first = await create();
    expect((await agent.call('cancel_refund', { refundId: first.id })).isError).toBe(false);
    for (const dryRun of [false, true]) {
      const { isError, content } = await agent.call('create_refund', { ...args, dryRun });
      expect([isError, content.code]).toEqual([true, 'validation_error']);
      expect(content.message).toContain(`idempotencyKey: is required, because ${first.id}`);
    }
    expect(await create({ idempotencyKey: 'wanted' })).toMatchObject({ replayed: false });
    expect(await create({ idempotencyKey: first.key })).toEqual({ ...first, replayed: true });
    await time.advance(service.ownerDb, dayMs);
    expect(await create()).toMatchObject({ replayed: false });
  });

  test.each([
    ['another amount', { amount: 1_001 }],
    ['metadata', { metadata: { ticket: 'T-1' } }],
    ['an idempotency key', { idempotencyKey: 'on-purpose' }],
  ])('but for %s is another refund', async (_what, changes) => {
    expect(outcomeOf([await create(), await create(changes)])).toEqual({ refunds: 2, created: 2 });
  });

  test('by another key is another refund', async () => {
    const other = await agents.connect();
    expect(outcomeOf([await create(), await create({}, other)])).toEqual({ refunds: 2, created: 2 });
  });
});
