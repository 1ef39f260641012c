import { beforeEach, expect, onTestFinished, test, vi } from 'vitest';
import { eraseRefunds } from '#shared/refunds/decisions/erase.ts';
import type { DeliveryClaim } from '#worker/deliver/claim-deliveries.ts';
import { createDeliveries } from '#worker/deliver/create-deliveries.ts';
import { recordAttempts } from '#worker/deliver/record-attempts.ts';
import { newPayment } from '../../support/refunds/payments.ts';
import { waitForLock, withClient } from '../../support/stores/database-client.ts';
import { useService } from '../../support/use-service.ts';
import { newEndpoint } from '../../support/webhooks/api-endpoints.ts';

// A receiver repeats what it is sent. No worker but the test.
const service = useService({ workers: 0, settings: { CREATE_WAIT_MS: 0 } });
const customer = 'Ada Lovelace';
beforeEach(async () => void (await newEndpoint(service)));

/** Creates the deliveries of new events, and begins their attempts. */
async function beginAttempts(): Promise<DeliveryClaim[]> {
  const begun: DeliveryClaim[] = [];
  const startUpTo = async (claim: (most: number) => Promise<DeliveryClaim[][]>) =>
    void begun.push(...(await claim(5)).flat());
  await createDeliveries(service.deps, { startUpTo }, new AbortController().signal);
  return begun;
}

/** Records that each attempt got back what it sent. */
async function endAttempts(claims: readonly DeliveryClaim[]): Promise<void> {
  const results = claims.map(({ deliveryId, attemptNumber, url, event }) => ({
    ...{ deliveryId, attemptNumber, url, waitedMs: 0, durationMs: 1, retryInMs: null, isGone: false },
    ...{ error: null, responseStatus: 200, responseBody: JSON.stringify(event?.metadata) },
  }));
  await recordAttempts(service.deps.db, results);
}

test.each([
  ['before that', 'before'],
  ['after that', 'after'],
  ['after the erasure was killed between its transactions', 'killed'],
])(
  'an attempt that begins while its refund is erased, and ends %s, keeps nothing of the customer',
  async (_what, when) => {
    const body = { transactionId: await newPayment(service), amount: 1_000, reason: 'other' };
    const { id } = (await service.call('POST', '/v1/refunds', { body: { ...body, metadata: { customer } } }))
      .body.data;
    const { erased, begun } = await withClient(service.databaseUrl, async (client) => {
      await client.query('BEGIN');
      // The last that an erasure changes before it commits.
      await client.query('SELECT FROM refund_event WHERE refund_id = $1 FOR UPDATE', [id]);
      const commits = vi.spyOn(service.ownerDb, '$transaction');
      onTestFinished(() => commits.mockRestore());
      const deps = { ...service.deps, db: service.ownerDb };
      const request = { organizationId: service.organization.id, refundIds: [id], actor: 'cli:test' };
      const erasure = eraseRefunds(deps, request).catch((error: Error) => error.message);
      await waitForLock(client, 1);
      if (when === 'killed') commits.mockRejectedValueOnce(new Error('killed'));
      const attempts = await beginAttempts();
      expect(JSON.stringify(attempts[0]?.event?.metadata)).toContain(customer);
      if (when === 'before') await endAttempts(attempts);
      await client.query('COMMIT');
      return { erased: erasure, begun: attempts };
    });
    expect(await erased).toBe(when === 'killed' ? 'killed' : undefined);
    if (when !== 'before') await endAttempts(begun);
    const deliveries = await service.deps.db.webhookDelivery.findMany({ where: { refundId: id } });
    expect(deliveries.map(({ status }) => status)).toContain('succeeded');
    expect(JSON.stringify(deliveries.map(({ attempts }) => attempts))).not.toContain(customer);
  },
);
