import { describe, expect, test } from 'vitest';
import { RefundClient } from '#shared/client/index.ts';
import { useDeployment } from '../../support/faults/use-deployment.ts';
import { newPayment } from '../../support/refunds/payments.ts';
import { waitFor } from '../../support/wait-for.ts';

const valid = { amount: 1_000, reason: 'other' } as const;

describe('an API that dies after the commit', () => {
  const deployment = useDeployment({ settings: { CREATE_WAIT_MS: 30_000 } });

  test('has made one refund, which the call returns', async () => {
    const { service } = deployment;
    const api = await deployment.startApi();
    const apiKey = service.organization.keys.test.plaintext;
    const client = new RefundClient({ baseUrl: api.url, apiKey, maxRetries: 20 });
    const transactionId = await newPayment(service);
    // Nothing advances the refund, so the API is still waiting for its outcome when it is killed.
    const creating = client.refunds.create({ ...valid, transactionId });
    const recorded = await waitFor('the refund', () => service.deps.db.refund.findFirst());
    await api.process.kill();
    await api.process.start();
    service.startWorker();
    expect((await creating).id).toBe(recorded.id);
    expect(await service.deps.db.refund.count()).toBe(1);
    expect(await service.sandbox.refunds({ transactionId })).toHaveLength(1);
  });
});
