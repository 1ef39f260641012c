import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, inject, test } from 'vitest';
import { type DevDatabase, openDevDatabase } from '../../dev/database.ts';
import { allComplete, create } from '../../support/faults/refunds.ts';
import { mountSmallDisk, type SmallDisk } from '../../support/faults/small-disk.ts';
import { expectInvariants } from '../../support/refunds/invariants.ts';
import { newPayment } from '../../support/refunds/payments.ts';
import { type ApiAnswer, startService, type TestService } from '../../support/service.ts';
import { postgresQueues } from '../../support/stores/backends.ts';
import { waitFor } from '../../support/wait-for.ts';
import '../../support/processes/run-servers.ts';

const async = { prefer: 'respond-async' };

// The PostgreSQL of `npm run dev`, which is restarted when it ends, on its own disk.
describe.skipIf(!inject('disks'))('a full disk of PostgreSQL', () => {
  let disk: SmallDisk;
  let database: DevDatabase;
  let service: TestService;

  beforeAll(async () => {
    const mounted = mountSmallDisk(192);
    if (mounted === null) throw new Error('No disk could be mounted.');
    disk = mounted;
    database = await openDevDatabase({
      dataDir: join(disk.folder, 'dev'),
      givenUrl: null,
      givenOwnerUrl: null,
      redisUrl: null,
      preferredPort: null,
      say: () => {},
    });
    const settings = { CREATE_WAIT_MS: 500 };
    service = await startService({ databaseUrl: database.ownerUrl, backend: postgresQueues, settings });
    await service.sandbox.settings({ autoSettleMs: 100 });
  });
  afterEach(async () => {
    disk.clear();
    await expectInvariants(service);
  });
  afterAll(async () => {
    await service?.close();
    await database?.stop();
    disk?.remove();
  });

  /** Creates refunds until one is refused, because existing pages have room for some; returns all answers. */
  async function createUntilRefused(): Promise<(ApiAnswer & { transactionId: string })[]> {
    const answers: (ApiAnswer & { transactionId: string })[] = [];
    await waitFor(
      'a creation to be refused',
      async () => {
        const transactionId = await newPayment(service, {
          processor: answers.length % 2 === 0 ? 'stripe' : 'braintree',
        });
        const headers = { ...async, 'idempotency-key': `full-${transactionId}` };
        answers.push({ transactionId, ...(await create(service, transactionId, headers)) });
        return answers.at(-1)?.status !== 200;
      },
      { intervalMs: 0 },
    );
    return answers;
  }

  async function expectTruth({
    transactionId,
    status,
    body,
    headers,
  }: Awaited<ReturnType<typeof createUntilRefused>>[number]) {
    const created = await service.deps.db.refund.count({ where: { transactionId } });
    if (status === 200) {
      expect(created).toBe(1);
      return;
    }
    const message = expect.stringContaining('Nothing was changed');
    expect({ status, body }).toEqual({
      status: 503,
      body: { error: { code: 'service_unavailable', message } },
    });
    expect(Number(headers['retry-after'])).toBeGreaterThan(0);
    expect(created).toBe(0);
  }

  /** Expects the refused request to succeed with the same key, and everything to complete. */
  async function expectToGoOn(refused: string): Promise<void> {
    const headers = { ...async, 'idempotency-key': `full-${refused}` };
    const again = await waitFor(
      'the same request to succeed',
      async () => {
        const answer = await create(service, refused, headers);
        return answer.status === 200 ? answer : null;
      },
      { intervalMs: 200 },
    );
    expect(again.headers['idempotent-replayed']).toBeUndefined();
    await allComplete(service);
  }

  test('refuses creations with 503 and leaves nothing half done, and everything continues when there is room', async () => {
    await service.sandbox.settings({ latencyMs: 500 });
    for (const processor of ['stripe', 'braintree', 'stripe']) {
      expect((await create(service, await newPayment(service, { processor }), async)).status).toBe(200);
    }
    await waitFor('some refunds to be sent', async () => {
      const sent = { work: { attemptNumber: { gt: 0 } }, externalRefundId: null };
      return (await service.deps.db.refund.count({ where: sent })) > 0;
    });
    disk.fill();
    const answers = await createUntilRefused();
    await service.sandbox.settings({ latencyMs: 0 });
    expect((await service.call('GET', '/v1/refunds')).status).toBe(200);
    expect((await service.call('GET', '/healthz')).status).toBe(200);
    for (const answer of answers) await expectTruth(answer);
    const refused = answers.at(-1)?.transactionId ?? '';
    disk.clear();
    await expectToGoOn(refused);
  });
});
