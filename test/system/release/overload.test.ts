import { afterEach, describe, expect, test } from 'vitest';
import type { ApiProcess } from '../../support/faults/deployment.ts';
import { refundOfNewPayment, untilCompleted } from '../../support/faults/refunds.ts';
import { useDeployment } from '../../support/faults/use-deployment.ts';
import { expectInvariants } from '../../support/refunds/invariants.ts';
import { waitFor } from '../../support/wait-for.ts';

describe('an overloaded API', () => {
  const processes = useDeployment();
  let api: ApiProcess | null = null;
  afterEach(async () => {
    await api?.process.kill();
    await expectInvariants(processes.service);
  });

  async function readiness(url: string) {
    const response = await fetch(`${url}/readyz`);
    return { httpStatus: response.status, body: await response.json() };
  }

  async function expectToWorkAgain({ url, post }: ApiProcess): Promise<void> {
    await waitFor('the API to be ready', async () => (await readiness(url)).httpStatus === 200);
    const worker = processes.service.startWorker();
    const { status, body } = await post('/v1/refunds', await refundOfNewPayment(processes.service, 'stripe'));
    expect(status).toBe(200);
    await untilCompleted(processes.service, [body.data.id]);
    await worker.close();
  }

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
    const headers = { authorization, 'content-type': 'application/json' };
    const [refused, alive] = await Promise.all([
      fetch(`${url}/v1/refunds`, { method: 'POST', headers, body: JSON.stringify(body) }),
      fetch(`${url}/healthz`),
    ]);
    expect([refused.status, alive.status]).toEqual([503, 200]);
    expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(0);
    expect(((await refused.json()) as { error: { code: string } }).error.code).toBe('service_unavailable');
    const { transactionId } = body;
    expect(await processes.service.deps.db.refund.count({ where: { transactionId } })).toBe(0);
    await expectToWorkAgain(api);
  }, 240_000);
});
