import { describe, expect, test } from 'vitest';
import type { NewApiKey } from '#shared/organizations/api-keys.ts';
import { useAgents } from '../../support/agents/use-agents.ts';
import { newRefund } from '../../support/refunds/new-refund.ts';
import { useService } from '../../support/use-service.ts';

const service = useService({ workers: 0, settings: { CREATE_WAIT_MS: 0 } });
const agents = useAgents(service);

const limited: Partial<NewApiKey> = { agentLimits: { currency: 'usd' } };
const refusal = {
  code: 'insufficient_scope',
  message:
    'An agent key may cancel only refunds that it requested. Cancel this one with another key or in the dashboard.',
};

const refundOf = async (key: string): Promise<string> => (await newRefund(service, {}, { key })).id;

const statusOf = async (id: string) => (await service.call('GET', `/v1/refunds/${id}`)).body.data.status;

describe('an agent key', () => {
  test('cancels what it requested, over MCP and by API', async () => {
    const agent = await agents.connect(limited);
    const [first, second] = [await refundOf(agent.plaintext), await refundOf(agent.plaintext)];
    expect(await agent.call('cancel_refund', { refundId: first })).toMatchObject({
      isError: false,
      content: { refund: { id: first, status: 'cancelled' } },
    });
    const byApi = await service.call('POST', `/v1/refunds/${second}/cancel`, { key: agent.plaintext });
    expect([byApi.status, byApi.body.data.status]).toEqual([200, 'cancelled']);
  });

  test('cancels nothing that another key requested', async () => {
    const agent = await agents.connect(limited);
    const other = await agents.connect(limited);
    for (const key of [service.organization.keys.test.plaintext, other.plaintext]) {
      const id = await refundOf(key);
      expect(await agent.call('cancel_refund', { refundId: id })).toEqual({
        isError: true,
        content: refusal,
      });
      const byApi = await service.call('POST', `/v1/refunds/${id}/cancel`, { key: agent.plaintext });
      expect([byApi.status, byApi.body]).toEqual([403, { error: refusal }]);
      expect(await statusOf(id)).toBe('processing');
    }
  });
});

test('any other key cancels what an agent key requested', async () => {
  const id = await refundOf((await agents.connect(limited)).plaintext);
  const { status } = await service.call('POST', `/v1/refunds/${id}/cancel`);
  expect([status, await statusOf(id)]).toEqual([200, 'cancelled']);
});
