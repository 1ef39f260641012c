import { randomUUID } from 'node:crypto';
import { afterEach, describe, expect, test, vi } from 'vitest';
import type { Processor } from '../../shared/processors/processor.ts';
import { expireAnswers } from '../../worker/jobs/expire-answers.ts';
import { expectInvariants } from '../harness/invariants.ts';
import { newPayment } from '../harness/payments.ts';
import type { ApiAnswer } from '../harness/service.ts';
import { ShiftedClock } from '../harness/shifted-clock.ts';
import { useService } from '../harness/use-service.ts';

const minute = 60_000;
const day = 24 * 60 * minute;
const clock = new ShiftedClock();
// Without workers: a refund changes by what these tests do to it, and by nothing else.
const service = useService({
  workers: 0,
  settings: { CREATE_WAIT_MS: 0, TRANSACTION_FRESH_MS: 0 },
  overrides: { clock },
});
afterEach(async () => {
  vi.restoreAllMocks();
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
const keyRow = async (key: string) =>
  await service.deps.db.idempotencyKey.findFirstOrThrow({ where: { key } });
const changeKey = async (key: string, data: object) =>
  await service.deps.db.idempotencyKey.updateMany({ where: { key }, data });

function expectInProgress(answer: ApiAnswer): void {
  expect({ status: answer.status, code: answer.body.error?.code }).toEqual({
    status: 409,
    code: 'idempotency_in_progress',
  });
  expect(answer.headers['retry-after']).toBe('1');
}

/** The row of a request whose process died: after its refund was committed, or before it had one. */
async function crashed(key: string, transactionId: string, when: 'before commit' | 'after commit') {
  const { body } = await create(key, transactionId);
  await changeKey(key, {
    statusCode: null,
    body: null,
    answeredAt: null,
    lockedUntil: new Date(clock.now().getTime() + minute),
    ...(when === 'before commit' ? { refundId: null } : {}),
  });
  if (when === 'before commit') await undo(body.data.id, transactionId);
  return body.data.id as string;
}

/** As if the database transaction had never been committed. */
async function undo(id: string, transactionId: string): Promise<void> {
  await service.deps.db.$transaction([
    service.deps.db.$executeRaw`SET LOCAL session_replication_role = replica`,
    service.deps.db.refundEvent.deleteMany({ where: { refundId: id } }),
    service.deps.db.refund.delete({ where: { id } }),
    service.deps.db.transaction.updateMany({ where: { transactionId }, data: { reserved: 0n } }),
  ]);
}

describe('a request whose process died', () => {
  test('holds its key for a minute, and nobody else runs', async () => {
    const [key, transactionId] = [randomUUID(), await payment()];
    await crashed(key, transactionId, 'before commit');
    expectInProgress(await create(key, transactionId));
    expect(await refundsOf(transactionId)).toEqual([]);
  });

  test('after its refund was committed, is answered with that refund and makes no other', async () => {
    const [key, transactionId] = [randomUUID(), await payment()];
    const id = await crashed(key, transactionId, 'after commit');
    expectInProgress(await create(key, transactionId));
    clock.advance(minute);
    for (let again = 0; again < 3; again += 1) {
      const answer = await create(key, transactionId);
      expect([answer.status, answer.body.data?.id]).toEqual([200, id]);
      expect(answer.headers['idempotent-replayed']).toBe('true');
    }
    expect(await refundsOf(transactionId)).toHaveLength(1);
  });

  test('before its refund was committed, is carried out by exactly one of those who repeat it', async () => {
    const [key, transactionId] = [randomUUID(), await payment()];
    await crashed(key, transactionId, 'before commit');
    clock.advance(minute);
    const readings = vi.spyOn(service.deps.connections, 'connect');
    const answers = await Promise.all(Array.from({ length: 8 }, () => create(key, transactionId)));
    const [refund, ...others] = await refundsOf(transactionId);
    expect(others).toEqual([]);
    expect(readings).toHaveBeenCalledTimes(1);
    const carriedOut = answers.filter(
      ({ status, headers }) => status === 200 && headers['idempotent-replayed'] === undefined,
    );
    expect(carriedOut.map(({ body }) => body.data.id)).toEqual([refund?.id]);
    for (const answer of answers) {
      if (answer.status === 200) expect(answer.body.data.id).toBe(refund?.id);
      else expectInProgress(answer);
    }
  });

  test('is not repeated by a request that differs', async () => {
    const [key, transactionId] = [randomUUID(), await payment()];
    await crashed(key, transactionId, 'before commit');
    clock.advance(minute);
    const answer = await create(key, transactionId, 1_001);
    expect([answer.status, answer.body.error?.code]).toEqual([422, 'idempotency_key_reused']);
    expect(await refundsOf(transactionId)).toEqual([]);
  });
});

describe('a request that was overtaken', () => {
  /** Holds the next question about a payment until `release` is called. */
  function holdNextReading(): { reached: Promise<void>; release: () => void } {
    let release: () => void = () => undefined;
    let reach: () => void = () => undefined;
    const reached = new Promise<void>((resolve) => {
      reach = resolve;
    });
    const gate = new Promise<void>((resolve) => {
      release = resolve;
    });
    const { connections } = service.deps;
    const connect = connections.connect.bind(connections);
    vi.spyOn(connections, 'connect').mockImplementationOnce((account) => {
      const processor = connect(account);
      const getTransaction: Processor['getTransaction'] = async (...question) => {
        reach();
        await gate;
        return await processor.getTransaction(...question);
      };
      return { ...processor, getTransaction };
    });
    return { reached, release };
  }

  test('creates nothing, and spoils the answer of none', async () => {
    const [key, transactionId] = [randomUUID(), await payment()];
    const { reached, release } = holdNextReading();
    const slow = create(key, transactionId);
    await reached;
    clock.advance(minute);
    const taker = await create(key, transactionId);
    expect(taker.status).toBe(200);
    release();
    expectInProgress(await slow);
    expect((await refundsOf(transactionId)).map(({ id }) => id)).toEqual([taker.body.data.id]);
    const replay = await create(key, transactionId);
    expect([replay.body, replay.headers['idempotent-replayed']]).toEqual([taker.body, 'true']);
  });

  test('gives nothing away of a key that it does not hold any more', async () => {
    const [key, transactionId] = [randomUUID(), await payment()];
    const { reached, release } = holdNextReading();
    const slow = create(key, transactionId, 10_001);
    await reached;
    clock.advance(minute);
    await changeKey(key, { lockedUntil: new Date(clock.now().getTime() + minute) });
    release();
    expect((await slow).status).toBe(400);
    expect(await keyRow(key)).toMatchObject({ refundId: null, statusCode: null });
    expectInProgress(await create(key, transactionId, 10_001));
  });
});

describe('an answer is forgotten after 30 days', () => {
  const outlive = async (key: string, forgotten: boolean) => {
    await changeKey(key, { answeredAt: new Date(clock.now().getTime() - 31 * day) });
    if (forgotten) await expireAnswers(service.deps);
  };

  test.each([
    ['has been forgotten', true],
    ['is due to be forgotten', false],
  ])('and its key stays with the refund, as it stands now, once the answer %s', async (_when, forgotten) => {
    const [key, transactionId] = [randomUUID(), await payment()];
    const { body } = await create(key, transactionId);
    await service.call('POST', `/v1/refunds/${body.data.id}/cancel`);
    await outlive(key, forgotten);
    const answer = await create(key, transactionId);
    expect(answer.body.data).toMatchObject({ id: body.data.id, status: 'cancelled' });
    expect(answer.headers['idempotent-replayed']).toBe('true');
    const other = await create(key, transactionId, 1_001);
    expect(other.body.error?.code).toBe('idempotency_key_reused');
    expect(await refundsOf(transactionId)).toHaveLength(1);
  });

  test.each([
    ['has been forgotten', true],
    ['is due to be forgotten', false],
  ])('and a request that made no refund is carried out anew once its answer %s', async (_when, forgotten) => {
    const [key, transactionId] = [randomUUID(), `ch_missing${randomUUID().replaceAll('-', '')}`];
    const first = await create(key, transactionId);
    expect(first.body.error?.code).toBe('processor_error');
    await outlive(key, forgotten);
    const answers = await Promise.all([create(key, transactionId), create(key, transactionId)]);
    const anew = answers.filter(({ headers }) => headers['idempotent-replayed'] === undefined);
    expect(anew.some(({ status }) => status === 502)).toBe(true);
    expect((await keyRow(key)).answeredAt?.getTime()).toBeGreaterThan(clock.now().getTime() - minute);
  });

  test('and not before', async () => {
    const [key, transactionId] = [randomUUID(), await payment()];
    const first = await create(key, transactionId);
    await service.call('POST', `/v1/refunds/${first.body.data.id}/cancel`);
    await changeKey(key, { answeredAt: new Date(clock.now().getTime() - 29 * day) });
    await expireAnswers(service.deps);
    expect((await create(key, transactionId)).body).toEqual(first.body);
  });
});
