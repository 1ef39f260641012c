import { randomUUID } from 'node:crypto';
import pg from 'pg';
import { afterEach, describe, expect, test, vi } from 'vitest';
import { toItems } from '#shared/refunds/model/rows.ts';
import { expectInvariants } from '#test/support/refunds/invariants.ts';
import { newPayment } from '#test/support/refunds/payments.ts';
import type { ApiAnswer } from '#test/support/service.ts';
import { useService } from '#test/support/use-service.ts';

// Without workers, so that refunds change by these tests alone.
const service = useService({ workers: 0, settings: { CREATE_WAIT_MS: 0, TRANSACTION_FRESH_MS: 0 } });

const opened: pg.Client[] = [];
afterEach(async () => {
  vi.restoreAllMocks();
  await Promise.all(opened.splice(0).map((client) => client.end().catch(() => {})));
  await expectInvariants(service);
});

const payment = async () => await newPayment(service);
const create = async (key: string, transactionId: string, amount = 1_000) =>
  await service.call('POST', '/v1/refunds', {
    body: { transactionId, amount, reason: 'other' },
    headers: { 'idempotency-key': key },
  });
const refundsOf = async (transactionId: string) =>
  await service.deps.db.refund.findMany({ where: { transactionId } });

function expectReplayOf(answer: ApiAnswer, id: string | undefined): void {
  expect([answer.status, answer.body.data?.id]).toEqual([200, id]);
  expect(answer.headers['idempotent-replayed']).toBe('true');
}

/** A promise and the function that resolves it. */
function deferred<T>(): { promise: Promise<T>; resolve: (value: T) => void } {
  let resolve: (value: T) => void = () => undefined;
  const promise = new Promise<T>((fulfil) => {
    resolve = fulfil;
  });
  return { promise, resolve };
}

/** A process that has inserted its refund and not committed it yet. */
interface OtherProcess {
  refundId: string;
  commit(): Promise<void>;
  /** Its connection ends with it. */
  die(): Promise<void>;
}

/** Sends a request to a process of its own, which never responds. */
async function beginElsewhere(key: string, transactionId: string): Promise<OtherProcess> {
  const client = new pg.Client({ connectionString: service.databaseUrl });
  client.on('error', () => {});
  await client.connect();
  opened.push(client);
  const { promise: began, resolve } = deferred<string>();
  vi.spyOn(service.deps.statements, 'create').mockImplementationOnce(async (item) => {
    await client.query('BEGIN');
    const { rows } = await client.query('SELECT outcome, refund FROM create_refunds($1::jsonb)', [
      toItems([item]),
    ]);
    expect(rows).toMatchObject([{ outcome: 'created' }]);
    resolve(rows[0].refund.id);
    return await new Promise(() => {});
  });
  void create(key, transactionId);
  return {
    refundId: await began,
    commit: async () => void (await client.query('COMMIT')),
    die: () => client.end(),
  };
}

/** Whether any of these has been answered after three later requests have been. */
async function areAnswered(answers: readonly Promise<unknown>[]): Promise<boolean> {
  let answered = 0;
  for (const answer of answers) void answer.then(() => (answered += 1));
  for (const _each of [1, 2, 3]) expect((await create(randomUUID(), await payment())).status).toBe(200);
  return answered > 0;
}

describe('a request with the key of one that is being carried out', () => {
  test('is carried out once when the first process dies before its commit, however often it is repeated', async () => {
    const [key, transactionId] = [randomUUID(), await payment()];
    const process = await beginElsewhere(key, transactionId);
    const repeated = Array.from({ length: 8 }, () => create(key, transactionId));
    expect(await areAnswered(repeated)).toBe(false);
    await process.die();
    const answers = await Promise.all(repeated);
    const [refund, ...others] = await refundsOf(transactionId);
    expect(others).toEqual([]);
    expect(refund?.id).not.toBe(process.refundId);
    const [carriedOut, ...more] = answers.filter(
      ({ headers }) => headers['idempotent-replayed'] === undefined,
    );
    expect(more).toEqual([]);
    expect([carriedOut?.status, carriedOut?.body.data.id]).toEqual([200, refund?.id]);
    for (const answer of answers) if (answer !== carriedOut) expectReplayOf(answer, refund?.id);
  });

  test('waits for the commit and returns the refund, although the first process dies after it', async () => {
    const [key, transactionId] = [randomUUID(), await payment()];
    const process = await beginElsewhere(key, transactionId);
    const repeated = [create(key, transactionId), create(key, transactionId)];
    const different = create(key, transactionId, 1_001);
    expect(await areAnswered([...repeated, different])).toBe(false);
    await process.commit();
    await process.die();
    for (const answer of await Promise.all(repeated)) expectReplayOf(answer, process.refundId);
    expect((await different).body.error?.code).toBe('idempotency_key_reused');
    expect(await refundsOf(transactionId)).toHaveLength(1);
  });

  test('gets 503 with Retry-After when the commit takes too long', async () => {
    const [key, transactionId] = [randomUUID(), await payment()];
    const process = await beginElsewhere(key, transactionId);
    const answer = await create(key, transactionId);
    expect([answer.status, answer.body.error?.code]).toEqual([503, 'service_unavailable']);
    expect(Number(answer.headers['retry-after'])).toBeGreaterThan(0);
    await process.commit();
    expectReplayOf(await create(key, transactionId), process.refundId);
    expect(await refundsOf(transactionId)).toHaveLength(1);
  });
});

test('a key stays bound to its refund for years', async () => {
  const [key, transactionId] = [randomUUID(), await payment()];
  const { body } = await create(key, transactionId);
  await service.call('POST', `/v1/refunds/${body.data.id}/cancel`);
  const yearsAgo = new Date('2020-01-01');
  await service.deps.db.refund.update({
    where: { id: body.data.id },
    data: { createdAt: yearsAgo, updatedAt: yearsAgo },
  });
  const answer = await create(key, transactionId);
  expectReplayOf(answer, body.data.id);
  expect(answer.body.data.status).toBe('cancelled');
  const other = await create(key, transactionId, 1_001);
  expect(other.body.error?.code).toBe('idempotency_key_reused');
  expect(await refundsOf(transactionId)).toHaveLength(1);
});
