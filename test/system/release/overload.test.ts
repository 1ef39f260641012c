import { afterEach, describe, expect, test } from 'vitest';
import type { ApiProcess } from '../../support/faults/deployment.ts';
import { refundOfNewPayment, untilCompleted } from '../../support/faults/refunds.ts';
import { useDeployment } from '../../support/faults/use-deployment.ts';
import { type FloodAnswer, flood, percentileMs } from '../../support/http/flood.ts';
import { expectInvariants } from '../../support/refunds/invariants.ts';
import { waitForLock, withClient } from '../../support/stores/database-client.ts';
import { waitFor } from '../../support/wait-for.ts';

describe('an overloaded API', () => {
  const processes = useDeployment();
  let api: ApiProcess | null = null;
  afterEach(async () => {
    await api?.process.kill();
    await expectInvariants(processes.service);
  });

  function expectRefused(answers: readonly FloodAnswer[]): void {
    for (const { status, body, retryAfter } of answers) {
      expect({ status, code: JSON.parse(body || '{}').error?.code }).toEqual({
        status: 503,
        code: 'service_unavailable',
      });
      expect(Number(retryAfter)).toBeGreaterThan(0);
    }
  }

  async function readiness(url: string) {
    const response = await fetch(`${url}/readyz`);
    return { httpStatus: response.status, body: await response.json() };
  }

  async function expectToWorkAgain({ url, post }: ApiProcess): Promise<void> {
    const since = performance.now();
    await waitFor('the API to be ready', async () => (await readiness(url)).httpStatus === 200);
    console.log(`Ready again after ${Math.round(performance.now() - since)} ms`);
    const worker = processes.service.startWorker();
    const { status, body } = await post('/v1/refunds', await refundOfNewPayment(processes.service, 'stripe'));
    expect(status).toBe(200);
    await untilCompleted(processes.service, [body.data.id]);
    await worker.close();
  }

  test('refuses a flood at once while all statements wait for a lock, and recovers', async () => {
    const { service } = processes;
    const settings = { DATABASE_POOL_SIZE: '2', MAX_REQUESTS_IN_PROGRESS: '20', RATE_LIMIT_PER_SECOND: '0' };
    api = await processes.startApi({ ...settings, CREATE_WAIT_MS: '0' });
    const { post } = api;
    const body = { ...(await refundOfNewPayment(service, 'stripe')), amount: 1 };
    expect((await post('/v1/refunds', body)).status).toBe(200);
    const stuck = await withClient(processes.service.databaseUrl, async (locker) => {
      await locker.query('BEGIN');
      await locker.query('LOCK TABLE payment');
      const waiting = Array.from({ length: 6 }, () => post('/v1/refunds', body));
      await waitForLock(locker);
      await expectFloodRefused(api as ApiProcess, body);
      return waiting;
    });
    await Promise.all(stuck);
    await expectToWorkAgain(api);
  }, 240_000);

  async function expectFloodRefused({ url, authorization }: ApiProcess, body: object): Promise<void> {
    const requests = Array.from({ length: 2_000 }, () => body);
    const isAlive = async () => (await fetch(`${url}/healthz`)).status === 200;
    const [answers] = await Promise.all([
      flood(`${url}/v1/refunds`, authorization, requests),
      waitFor('/healthz to answer', isAlive),
    ]);
    expectRefused(answers);
    // These were refused without the database. Others got a place when a waiting statement timed out.
    const atOnce = answers.filter(({ body: text }) => text.includes('Too many concurrent requests'));
    expect(atOnce.length).toBeGreaterThan(requests.length / 2);
    const [half, most] = [percentileMs(answers, 0.5), percentileMs(answers, 0.99)];
    console.log(`${requests.length} at once: half refused within ${half} ms, 99 % within ${most} ms`);
  }

  test('refuses no client while wrongly signed webhooks flood it', async () => {
    const { service } = processes;
    api = await processes.startApi({ RATE_LIMIT_PER_SECOND: '0', CREATE_WAIT_MS: '0' });
    const { url, authorization, post } = api;
    const body = { ...(await refundOfNewPayment(service, 'stripe')), amount: 1 };
    const account = await service.deps.db.processorAccount.findFirstOrThrow({
      where: { processor: 'stripe' },
    });
    const events = Array.from({ length: 2_000 }, (_, index) => ({ id: `evt_${index}` }));
    const webhooks = flood(`${url}/webhooks/stripe/${account.id}`, authorization, events);
    const statuses: number[] = [];
    for (let count = 0; count < 40; count += 1) {
      statuses.push((await post('/v1/refunds', body)).status, (await fetch(`${url}/healthz`)).status);
    }
    expect(new Set(statuses)).toEqual(new Set([200]));
    const refused = (await webhooks).filter(({ status }) => status === 503);
    console.log(`${refused.length} of ${events.length} webhooks were refused`);
    await expectToWorkAgain(api);
  }, 240_000);

  test('gives the places of clients that disconnect to others', async () => {
    api = await processes.startApi({ MAX_REQUESTS_IN_PROGRESS: '5', CREATE_WAIT_MS: '0' });
    const { url, authorization } = api;
    await processes.service.sandbox.settings({ latencyMs: 300 });
    for (let round = 0; round < 4; round += 1) {
      const leaving = new AbortController();
      const body = JSON.stringify(await refundOfNewPayment(processes.service, 'stripe'));
      const headers = { authorization, 'content-type': 'application/json' };
      const abandoned = Array.from({ length: 4 }, () =>
        fetch(`${url}/v1/refunds`, { method: 'POST', headers, body, signal: leaving.signal }).catch(
          () => null,
        ),
      );
      const created = { where: { name: JSON.parse(body).transactionId } };
      await waitFor(
        'one of them to be under way',
        async () => (await processes.service.deps.db.paymentName.count(created)) > 0,
      );
      leaving.abort();
      await Promise.all(abandoned);
    }
    await processes.service.sandbox.settings({ latencyMs: 0 });
    await expectToWorkAgain(api);
  }, 240_000);

  test('whose event loop is busy refuses at once, answers /healthz, reports it at /readyz, and recovers', async () => {
    const busy = { MAX_EVENT_LOOP_DELAY_MS: '200', BUSY_FOR_MS: '10000', BUSY_PIECE_MS: '400' };
    api = await processes.startApi(busy, 'busy-event-loop');
    const { url, authorization } = api;
    process.kill(api.process.pid, 'SIGUSR2');
    const told = await waitFor('/readyz to report it', async () => {
      const state = await readiness(url);
      return state.httpStatus === 503 ? state.body : null;
    });
    expect(told).toEqual({ status: 'overloaded' });
    const body = await refundOfNewPayment(processes.service, 'stripe');
    const [answers, alive] = await Promise.all([
      flood(
        `${url}/v1/refunds`,
        authorization,
        Array.from({ length: 20 }, () => body),
      ),
      fetch(`${url}/healthz`),
    ]);
    expect(alive.status).toBe(200);
    expectRefused(answers);
    const { transactionId } = body;
    expect(await processes.service.deps.db.refund.count({ where: { transactionId } })).toBe(0);
    await expectToWorkAgain(api);
  }, 240_000);
});
