import { afterAll, describe, expect, test } from 'vitest';
import { postgresQueues } from '../harness/backends.ts';
import { CommitDelayingProxy } from '../harness/commit-delaying-proxy.ts';
import { useDatabase } from '../harness/database.ts';
import { expectInvariants } from '../harness/invariants.ts';
import { madeBeforeTests } from '../harness/made-before-tests.ts';
import { newPayment } from '../harness/payments.ts';
import { startService } from '../harness/service.ts';
import { waitFor } from '../harness/wait-for.ts';

const databaseUrl = useDatabase();
const proxy = madeBeforeTests(
  'The proxy in front of PostgreSQL',
  () => CommitDelayingProxy.open(databaseUrl()),
  (opened) => opened.close(),
);
const service = madeBeforeTests(
  'The service',
  () => startService({ databaseUrl: proxy.url, backend: postgresQueues, workers: 0 }),
  (started) => started.close(),
);

describe('a commit that arrives after its connection has broken', () => {
  afterAll(async () => await expectInvariants(service));

  test.each(['stripe', 'braintree'])('at %s leaves the key with its refund', async (processor) => {
    const transactionId = await newPayment(service, { processor });
    const create = () =>
      service.call('POST', '/v1/refunds', {
        body: { transactionId, amount: 1_000, reason: 'other', processor },
        headers: { 'idempotency-key': `late-${processor}`, prefer: 'respond-async' },
      });
    const refunds = () => service.deps.db.refund.findMany({ where: { transactionId } });
    proxy.cutNextCommit();
    expect((await create()).status).toBe(500);
    await waitFor('the commit to arrive', async () => (await refunds()).length === 1);
    const repeated = await waitFor('the repetition to be answered', async () => {
      const answer = await create();
      return answer.status === 200 ? answer : null;
    });
    expect(await refunds()).toMatchObject([{ id: repeated.body.data.id }]);
  });
});
