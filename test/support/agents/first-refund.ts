import { expect } from 'vitest';
import { newPayment } from '../refunds/payments.ts';
import { untilStatus } from '../refunds/refund-records.ts';
import type { TestService } from '../service.ts';
import type { Agent } from './agent.ts';

/** Expects an agent to find the tools, and to create and get a refund that the API shows as its own. The service has a worker. */
export async function expectFirstRefund(service: TestService, agent: Agent): Promise<void> {
  // With the list, the client checks results against their schemas.
  const { tools } = await agent.client.listTools();
  expect(
    tools.map(({ name, annotations, inputSchema, outputSchema }) => [
      name,
      annotations?.readOnlyHint,
      annotations?.destructiveHint,
      inputSchema.type,
      outputSchema?.type,
    ]),
  ).toEqual([
    ['create_refund', false, true, 'object', 'object'],
    ['get_refund', true, undefined, 'object', 'object'],
    ['cancel_refund', false, true, 'object', 'object'],
    ['list_refunds', true, undefined, 'object', 'object'],
    ['check_policy', true, undefined, 'object', 'object'],
  ]);
  const metadata = { ticket: 'T-1', tags: ['a', { b: null }] };
  const args = {
    ...{ transactionId: await newPayment(service), amount: 1_050, reason: 'product_defective' },
    ...{ currency: 'USD', metadata },
  };
  const { isError, content } = await agent.call('create_refund', args);
  expect(isError, JSON.stringify(content)).toBe(false);
  const { refund } = content;
  expect(refund).toMatchObject({ ...args, currency: 'usd', initiatedBy: 'mcp', status: 'processing' });
  expect(content).toEqual({ refund, idempotencyKey: expect.stringMatching(/^mcp_/), replayed: false });
  await untilStatus(service, refund.id, 'completed');
  const { body } = await service.call('GET', `/v1/refunds/${refund.id}`);
  expect((await agent.call('get_refund', { refundId: refund.id })).content).toEqual({
    refund: { ...body.data, waiting: null },
  });
  const where = { refundId: refund.id, seq: 1 };
  const { actor } = await service.deps.db.refundEvent.findFirstOrThrow({ where });
  expect(actor).toBe(`key:${service.organization.keys.test.id}`);
}
