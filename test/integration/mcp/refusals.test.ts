import { beforeEach, describe, expect, test } from 'vitest';
import type { AgentLimits } from '#shared/policies/agent-limits.ts';
import { useAgents } from '../../support/agents/use-agents.ts';
import { newPayment } from '../../support/refunds/payments.ts';
import { unknownRefundId } from '../../support/refunds/refund-records.ts';
import { useService } from '../../support/use-service.ts';

const service = useService({ workers: 0, settings: { CREATE_WAIT_MS: 0, CANCEL_WAIT_MS: 0 } });
const agents = useAgents(service);

let transactionId: string;
beforeEach(async () => {
  transactionId = await newPayment(service);
});

const countRefunds = async () => await service.deps.db.refund.count({ where: { transactionId } });
const creation = () => ({ transactionId, amount: 1_000, reason: 'other' });

describe('guardrails', () => {
  const currency = 'usd';
  test.each<[string, AgentLimits, number, RegExp]>([
    ['per refund', { currency, maxPerRefund: 999n }, 0, /at most 9\.99 USD per refund; 9\.99 USD are left/],
    ['per day', { currency, maxPerDay: 1_999n }, 1, /at most 19\.99 USD in 24 hours; 9\.99 USD are left/],
  ])('of a key refuse what exceeds its limit: %s', async (_limit, agentLimits, allowed, message) => {
    const agent = await agents.connect({ agentLimits });
    const call = (more = {}) => agent.call('create_refund', { ...creation(), ...more });
    for (let refund = 0; refund < allowed; refund += 1) {
      expect((await call({ metadata: { refund } })).content).toMatchObject({ replayed: false });
    }
    const dryRun = await call({ dryRun: true });
    const { isError, content } = await call();
    expect(isError).toBe(true);
    expect(content).toEqual({ code: 'policy_denied', message: expect.stringMatching(message) });
    expect(dryRun).toMatchObject({ isError: false, content: { wouldCreate: false, error: content } });
    expect(await countRefunds()).toBe(allowed);
  });

  test('of a key hold back what exceeds its threshold, also in parts', async () => {
    const agent = await agents.connect({ agentLimits: { currency, approvalAbove: 1_500n } });
    const statuses: string[] = [];
    for (const part of [1, 2]) {
      const args = { ...creation(), metadata: { part } };
      const dryRun = await agent.call('create_refund', { ...args, dryRun: true });
      const { content } = await agent.call('create_refund', args);
      expect(dryRun.content).toMatchObject({ wouldCreate: true, status: content.refund.status, error: null });
      statuses.push(content.refund.status);
    }
    expect(statuses).toEqual(['processing', 'pending']);
  });

  test('of a key are what check_policy counts with', async () => {
    const agent = await agents.connect({ agentLimits: { currency, maxPerRefund: 999n } });
    const { content } = await agent.call('check_policy', { transactionId, amount: 1_000 });
    expect(content.policy).toMatchObject({ eligible: false, maxAmount: 999 });
  });

  test('are not passed by calls at once', async () => {
    const agent = await agents.connect({ agentLimits: { currency, maxPerPayment: 2_000n } });
    const calls = Array.from({ length: 5 }, (_, part) =>
      agent.call('create_refund', { ...creation(), metadata: { part } }),
    );
    const codes = (await Promise.all(calls)).map(({ content }) => content.code ?? content.refund.status);
    expect(codes.toSorted()).toEqual([...Array(3).fill('policy_denied'), ...Array(2).fill('processing')]);
    expect(await countRefunds()).toBe(2);
  });
});

test('a dry run changes nothing, and answers the same again', async () => {
  const agent = await agents.connect();
  const args = { ...creation(), dryRun: true };
  const { isError, content } = await agent.call('create_refund', args);
  expect(isError).toBe(false);
  expect(content).toMatchObject({ wouldCreate: true, status: 'processing', error: null, maxAmount: 10_000 });
  expect(content.policy.trace.length).toBeGreaterThan(0);
  expect(await agent.call('create_refund', args)).toEqual({ isError, content });
  expect(await countRefunds()).toBe(0);
  // The same call for real is not a repetition of the dry run. After it, a dry run says that nothing would be created.
  const real = await agent.call('create_refund', creation());
  expect(real.content.replayed).toBe(false);
  const after = await agent.call('create_refund', args);
  expect(after.content).toMatchObject({ wouldCreate: false, status: null, error: null });
});

test('refunds of others get the answer for an unknown id, and are not listed', async () => {
  const { keys } = await service.addOrganization('Other');
  const body = { ...creation(), amount: 500 };
  const key = keys.test.plaintext;
  const foreign = (await service.call('POST', '/v1/refunds', { body, key })).body.data.id;
  const agent = await agents.connect();
  await agent.call('create_refund', creation());
  for (const tool of ['get_refund', 'cancel_refund']) {
    for (const refundId of [foreign, unknownRefundId, '', `ref_${'x'.repeat(5_000)}`]) {
      expect(await agent.call(tool, { refundId }), refundId).toEqual({
        isError: true,
        content: { code: 'not_found', message: 'Refund not found.' },
      });
    }
  }
  const { content } = await agent.call('list_refunds', { limit: 100 });
  const ids = content.refunds.map(({ id }: { id: string }) => id);
  expect(ids.length).toBeGreaterThan(0);
  expect(ids).not.toContain(foreign);
});

describe('invalid arguments are refused with every problem', () => {
  test.each<[string, string, Record<string, unknown>, RegExp | string]>([
    [
      'nothing',
      'create_refund',
      {},
      /^transactionId: is required; reason: is required; amount: is required, unless remaining is true$/,
    ],
    [
      'a long key',
      'create_refund',
      { idempotencyKey: 'x'.repeat(256) },
      /^idempotencyKey: must be 1 to 255 visible/,
    ],
    [
      'an unknown argument',
      'create_refund',
      { currencyCode: 'usd' },
      /^currencyCode: unknown field\. The fields are: transactionId, amount, remaining, reason, currency, .*\.$/,
    ],
    [
      'nested metadata',
      'list_refunds',
      { metadata: { a: {} } },
      'metadata.a: must be a string, number or boolean',
    ],
    ['an unknown cursor', 'list_refunds', { after: unknownRefundId }, /^after: /],
  ])('%s for %s', async (what, tool, args, message) => {
    const agent = await agents.connect();
    const valid = tool === 'create_refund' && what !== 'nothing' ? creation() : {};
    const { isError, content } = await agent.call(tool, { ...valid, ...args });
    expect(isError).toBe(true);
    expect(content).toEqual({
      code: 'validation_error',
      message: typeof message === 'string' ? message : expect.stringMatching(message),
    });
    expect(await countRefunds()).toBe(0);
  });

  test('an amount that cannot be stored exactly gets 400', async () => {
    const agent = await agents.connect();
    await expect(agent.call('create_refund', { ...creation(), amount: 2 ** 60 })).rejects.toMatchObject({
      status: 400,
      message: expect.stringContaining('cannot be stored exactly'),
    });
  });

  test('arguments that are no object get an error of the protocol', async () => {
    const agent = await agents.connect();
    await expect(agent.call('get_refund', 'ref_1' as never)).rejects.toMatchObject({ code: -32602 });
  });
});
