import { beforeEach, describe, expect, test } from 'vitest';
import { failedRequestsPerDay } from '#shared/organizations/failed-requests.ts';
import { newRequestId } from '#shared/platform/ids.ts';
import { openLog } from '#shared/platform/log.ts';
import { newCard } from '#test/support/http/canaries.ts';
import { newPayment } from '#test/support/refunds/payments.ts';
import type { ApiAnswer } from '#test/support/service.ts';
import { useService } from '#test/support/use-service.ts';
import { waitFor } from '#test/support/wait-for.ts';

const logged: string[] = [];
const log = openLog('warn', 'test', { write: (line: string) => void logged.push(line) });
const service = useService({ overrides: { log } });
const hourMs = 60 * 60 * 1000;
beforeEach(() => service.deps.db.failedRequest.deleteMany());

const idOf = ({ headers }: ApiAnswer) => String(headers['x-request-id']);
const refusedList = (options = {}) => service.call('GET', '/v1/refunds?limit=0', options);
const create = (body: object) =>
  service.call('POST', '/v1/refunds', { body: { amount: 100, reason: 'other', ...body } });

/** The record of an answer. */
const recordOf = (answer: ApiAnswer) =>
  waitFor('the record of the request', () =>
    service.deps.db.failedRequest.findUnique({ where: { id: idOf(answer) } }),
  );

/** What is stored once all earlier requests were: the records are written one after another. */
async function stored() {
  await recordOf(await refusedList({ key: service.organization.keys.live.plaintext }));
  return await service.deps.db.failedRequest.findMany({ where: { environment: 'test' } });
}

test('a refused request is kept with its key, operation, error and body, without secrets and card numbers', async () => {
  const { organization } = service;
  const { text: card } = newCard('a card');
  const { plaintext: key } = organization.keys.test;
  const metadata = { card: Number(card), note: `Paid with ${card}`, url: 'https://a:b@example.com', key };
  const answer = await create({ amount: 'all', metadata, password: 'swordfish', idempotencyKey: 'order-1' });
  const record = await recordOf(answer);
  expect(record).toMatchObject({
    ...{ organizationId: organization.id, environment: 'test', apiKeyId: organization.keys.test.id },
    ...{ operation: 'POST /v1/refunds', path: '/v1/refunds', status: 400, refundId: null },
    ...answer.body.error,
  });
  expect(record.body).toContain('"amount":"all"');
  for (const secret of [card, key, 'swordfish', 'order-1', 'a:b@']) expect(record.body).not.toContain(secret);
  const inPath = await service.call('GET', `/v1/refunds/${card}`);
  expect((await recordOf(inPath)).path).toBe('/v1/refunds/[digits redacted]');
});

test('a creation that fails after it waited keeps its body, and names the refund that was recorded', async () => {
  const transactionId = await newPayment(service);
  const tooMuch = await create({ transactionId, amount: 1_000_000 });
  const { body } = await recordOf(tooMuch);
  expect(JSON.parse(body ?? '')).toMatchObject({ transactionId, amount: 1_000_000 });
  const declined = await create({ transactionId: await newPayment(service, { id: 'ch_declined1' }) });
  expect(declined.status).toBe(502);
  const { refundId } = await recordOf(declined);
  expect(declined.headers.location).toBe(`/v1/refunds/${refundId}`);
});

test('nothing is kept of what succeeds, and of requests without a valid key', async () => {
  expect(await service.call('GET', '/v1/refunds')).toMatchObject({ status: 200 });
  expect(await refusedList({ key: `svc_test_${'x'.repeat(32)}` })).toMatchObject({ status: 401 });
  expect(await service.call('GET', '/v1/nowhere')).toMatchObject({ status: 404 });
  expect(await stored()).toEqual([]);
});

test('no body of more than 4 KiB is kept', async () => {
  const { body } = await recordOf(await create({ amount: 'all', metadata: { note: 'x'.repeat(4096) } }));
  expect(body).toBeNull();
});

test('a store that fails changes no answer, and loses this record alone', async () => {
  await service.ownerDb.$executeRaw`ALTER TABLE failed_request RENAME TO gone`;
  const lost = await refusedList();
  expect(lost.status).toBe(400);
  await waitFor('the failure', async () => logged.join('').includes('a failed request was not recorded'));
  await service.ownerDb.$executeRaw`ALTER TABLE gone RENAME TO failed_request`;
  const kept = await refusedList();
  expect((await stored()).map(({ id }) => id)).toEqual([idOf(kept)]);
});

describe('what an environment keeps of a day is bounded', () => {
  const { all, alike, bytes } = failedRequestsPerDay;

  async function fill(count: number, more: (index: number) => object, createdAt: Date) {
    const { id: organizationId, keys } = service.organization;
    const like = { organizationId, environment: 'test' as const, apiKeyId: keys.test.id, createdAt };
    await service.deps.db.failedRequest.createMany({
      data: Array.from({ length: count }, (_, index) => ({
        ...{ ...like, id: newRequestId(), operation: 'GET /v1/refunds', path: '', status: 400 },
        ...{ code: 'validation_error', message: '', ...more(index) },
      })),
    });
  }

  test.each<[what: string, count: number, more: (index: number) => object]>([
    ['requests', all, (index) => ({ code: String(index) })],
    ['requests of one operation with one error', alike, () => ({})],
    ['bytes', 1, () => ({ code: 'other', message: 'x'.repeat(bytes) })],
  ])('keeps no more than a bound of %s', async (_what, count, more) => {
    await fill(count, more, new Date(Date.now() - 25 * hourMs));
    const kept = idOf(await refusedList());
    expect((await stored()).map(({ id }) => id)).toContain(kept);
    // Also of today when the day ends meanwhile.
    await fill(count, more, new Date(Date.now() + hourMs));
    const before = (await stored()).length;
    await refusedList();
    expect((await stored()).length).toBe(before);
  });
});
