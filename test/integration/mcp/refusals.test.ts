import { beforeEach, describe, expect, test } from 'vitest';
import { useAgents } from '../../support/agents/use-agents.ts';
import { newRefund } from '../../support/refunds/new-refund.ts';
import { newPayment } from '../../support/refunds/payments.ts';
import { useService } from '../../support/use-service.ts';

const service = useService({ workers: 0, settings: { CREATE_WAIT_MS: 0, CANCEL_WAIT_MS: 0 } });
const agents = useAgents(service);

let transactionId: string;
beforeEach(async () => {
  transactionId = await newPayment(service);
});

const countRefunds = async () => await service.deps.db.refund.count({ where: { transactionId } });
const creation = () => ({ transactionId, amount: 1_000, reason: 'other' });

describe('limits of a key', () => {
  const currency = 'usd';

  test('refuse what exceeds them, also in a dry run', async () => {
    const agent = await agents.connect({ agentLimits: { currency, maxPerRefund: 999n } });
    const dryRun = await agent.call('create_refund', { ...creation(), dryRun: true });
    const { isError, content } = await agent.call('create_refund', creation());
    expect(isError).toBe(true);
    const message = expect.stringMatching(/at most 9\.99 USD per refund\./);
    expect(content).toEqual({ code: 'policy_denied', message });
    expect(dryRun).toMatchObject({ isError: false, content: { wouldCreate: false, error: content } });
    expect(dryRun.content.policy.trace).toContain('Limit of this key per refund: 9.99 USD');
    expect(await countRefunds()).toBe(0);
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

describe('an agent key', () => {
  test('cancels nothing that another key requested, and any key what an agent key requested', async () => {
    const limited = { agentLimits: { currency: 'usd' } };
    const [agent, other] = [await agents.connect(limited), await agents.connect(limited)];
    const error = {
      code: 'insufficient_scope',
      message:
        'An agent key may cancel only refunds that it requested. Cancel this one with another key or in the dashboard.',
    };
    const cancel = (id: string, key: string) => service.call('POST', `/v1/refunds/${id}/cancel`, { key });
    const { plaintext: backend } = service.organization.keys.test;
    for (const key of [backend, other.plaintext]) {
      const { id } = await newRefund(service, {}, { key });
      expect(await agent.call('cancel_refund', { refundId: id })).toEqual({ isError: true, content: error });
      const byApi = await cancel(id, agent.plaintext);
      expect([byApi.status, byApi.body]).toEqual([403, { error }]);
      expect((await cancel(id, backend)).body.data.status).toBe('cancelled');
    }
    const { id: refundId } = await newRefund(service, {}, { key: agent.plaintext });
    expect((await agent.call('cancel_refund', { refundId })).content.refund.status).toBe('cancelled');
  });
});

test.each<[string, Record<string, unknown>, RegExp]>([
  ['create_refund', {}, /^transactionId: is required; reason: is required; amount: is required, unless/],
  [
    'create_refund',
    { currencyCode: 'usd' },
    /; currencyCode: unknown field; .*\. The fields are: transactionId, amount, remaining, reason, currency, .*\.$/,
  ],
  ['list_refunds', { metadata: { a: {} } }, /^metadata\.a: must be a string, number or boolean$/],
])('%s is refused with every problem of %j', async (tool, args, message) => {
  const agent = await agents.connect();
  const { isError, content } = await agent.call(tool, args);
  expect([isError, content]).toEqual([
    true,
    { code: 'validation_error', message: expect.stringMatching(message) },
  ]);
  expect(await countRefunds()).toBe(0);
});
