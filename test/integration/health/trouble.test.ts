import { beforeEach, expect, onTestFinished, test } from 'vitest';
import { noteHeartbeat } from '#shared/health/heartbeat.ts';
import { renderMetrics, serveMetrics } from '#shared/health/serve-metrics.ts';
import { findAccountsInTrouble, isUnanswered } from '#shared/health/trouble.ts';
import { signInMember } from '../../support/dashboard/dashboard-member.ts';
import { advanceRefund } from '../../support/refunds/advance-refund.ts';
import { newRefund } from '../../support/refunds/new-refund.ts';
import { makeDue, rowOf, untilStatus } from '../../support/refunds/refund-records.ts';
import { useService } from '../../support/use-service.ts';
import { waitFor } from '../../support/wait-for.ts';

// Long pauses between retries, so that a next attempt is ahead.
const service = useService({ workers: 0, settings: { RETRY_BASE_MS: 600_000, RETRY_CAP_MS: 900_000 } });

const minuteMs = 60_000;
/** Polled, because a store that does not answer a probe within two seconds is down. */
const probe = () => service.call('GET', '/readyz');
const ready = async () => (await probe()).body;
const refund = async (processor = 'stripe'): Promise<string> => (await newRefund(service, { processor })).id;

/** The value of one line of the metrics; null when it is missing. */
async function metric(line: string): Promise<number | null> {
  const text = await renderMetrics(service.deps, { main: service.deps.db });
  const found = text.split('\n').find((each) => each.startsWith(`${line} `));
  return found === undefined ? null : Number(found.slice(line.length + 1));
}

/** The page as text, without tags. */
async function pageText(path = ''): Promise<string> {
  const { visitor } = await signInMember(service, 'operator');
  const { text } = await visitor.get(`/dashboard/${service.organization.id}/test${path}`);
  return text.replace(/<[^>]+>/g, ' ').replace(/\s+/g, ' ');
}

/** A worker until the end of the test. */
async function startWorker() {
  const worker = service.startWorker();
  onTestFinished(() => worker.close());
  await waitFor('the worker', async () => (await ready()).workers === 'up');
  return worker;
}

/** Expects a metric to grow by this much with the work, or soon after. */
async function expectGrowth(line: string, by: number, work: () => Promise<unknown>): Promise<void> {
  const before = (await metric(line)) ?? 0;
  await work();
  await waitFor(`${line} to grow by ${by}`, async () => (await metric(line)) === before + by);
}

// Each test begins without workers and open refunds.
beforeEach(async () => {
  await service.sandbox.clearFaults();
  await service.ownerDb.$executeRaw`DELETE FROM refund_work`;
  await service.ownerDb.$executeRaw`DELETE FROM worker`;
  await waitFor('no worker and no trouble', async () => {
    const { workers, processors } = await ready();
    return workers === 'down' && processors.length === 0;
  });
});

test('a worker that runs is known to every process, and nothing needs attention', async () => {
  await expect
    .poll(ready)
    .toMatchObject({ status: 'degraded', workers: 'down', database: 'up', queue: 'up' });
  expect(await pageText()).toContain('No worker has run in the last day');
  await startWorker();
  await expect.poll(ready).toEqual({
    ...{ status: 'ok', database: 'up', queue: 'up', queueTrouble: null, workers: 'up', processors: [] },
  });
  expect(await metric('refund_workers_alive')).toBe(1);
  expect(await pageText()).not.toContain('No worker');
});

test('a processor that answers nothing is named by metrics, readiness, overview and health page, and nothing fails', async () => {
  await startWorker();
  await untilStatus(service, await refund('braintree'), 'processing');
  await service.sandbox.fault({ processor: 'stripe', operation: '*', kind: 'error-503', times: null });
  const { deps, organization } = service;
  const owner = { organizationId: organization.id, environment: 'test' } as const;
  const place = 'processor="stripe",environment="test"';
  await expectGrowth(`refund_attempts_total{${place},outcome="unavailable"}`, 2, async () => {
    for (let each = 0; each < 2; each += 1) await refund();
    await waitFor(
      'both refunds to be retried',
      async () => (await findAccountsInTrouble(deps.db, owner))[0]?.refunds === 2,
    );
  });
  await expect.poll(ready).toMatchObject({ processors: [] });

  // Four minutes later.
  await service.ownerDb.$executeRaw`
    UPDATE refund_work SET retrying_since = retrying_since - ${4 * minuteMs + 5_000} * interval '1 millisecond'`;
  await waitFor('readiness', async () => (await ready()).status === 'degraded');
  const processors = [{ processor: 'stripe', environment: 'test', trouble: 'unanswered' }];
  await expect.poll(probe).toMatchObject({ status: 200, body: { processors } });
  expect(await metric(`refund_processor_unanswered_seconds{${place}}`)).toBeGreaterThan(240);
  expect(await metric(`refund_open_refunds{${place},state="retrying"}`)).toBe(2);
  expect(await metric('refund_processor_unanswered_seconds{processor="braintree",environment="test"}')).toBe(
    0,
  );
  const sentence = /Stripe test has not answered for 4 minutes, 2 refunds wait, next attempt in \d+ (min|s)/;
  expect(await pageText()).toMatch(sentence);
  expect(await pageText('/health')).toMatch(sentence);

  await service.sandbox.clearFaults();
  await untilStatus(service, await refund(), 'completed');
  await waitFor('readiness', async () => (await ready()).status === 'ok');
  expect(await pageText()).not.toContain('has not answered');
});

test('a stopped worker is named by metrics, readiness, overview and health page, and the API stays ready', async () => {
  const worker = await startWorker();
  await worker.close();
  // Two minutes later.
  await service.ownerDb
    .$executeRaw`UPDATE worker SET seen_at = seen_at - ${2 * minuteMs} * interval '1 millisecond'`;
  await waitFor('readiness', async () => (await ready()).workers === 'down');
  await expect.poll(probe).toMatchObject({ status: 200, body: { status: 'degraded' } });
  expect(await metric('refund_workers_alive')).toBe(0);
  expect(await pageText()).toContain('No worker for 2 minutes');
  expect(await pageText('/health')).toContain('No worker for 2 minutes');

  await refund();
  await service.ownerDb.$executeRaw`UPDATE refund_work SET due_at = due_at - interval '90 seconds'`;
  await waitFor(
    'the age of what is due',
    async () =>
      ((await metric('refund_oldest_due_age_seconds{processor="stripe",environment="test"}')) ?? 0) >= 90,
  );
});

test('a call that hangs does not count as due while its lease lasts', async () => {
  await refund();
  const age = () => metric('refund_oldest_due_age_seconds{processor="stripe",environment="test"}');
  const lease = (interval: string) => service.ownerDb.$executeRaw`
    UPDATE refund_work SET due_at = service_time() - interval '90 seconds', leased_until = service_time() + ${interval}::interval,
      lease_token = 1`;
  await lease('-1 second');
  await waitFor('the age of what is due', async () => ((await age()) ?? 0) >= 90);
  await lease('1 hour');
  await waitFor('nothing to be due', async () => (await age()) === 0);
});

test('a refund whose payment has not settled is no trouble of its processor, and is flagged after a week', async () => {
  const payment = { status: 'submitted_for_settlement' };
  const { id } = await newRefund(service, { processor: 'braintree' }, { payment });
  await advanceRefund(service.deps, id);
  expect(await rowOf(service, id)).toMatchObject({ status: 'processing', attemptCount: 1 });
  const owner = { organizationId: service.organization.id, environment: 'test' } as const;
  const troubles = await findAccountsInTrouble(service.deps.db, owner);
  expect(troubles.filter(({ processor }) => processor === 'braintree')).toEqual([]);
  expect(await pageText(`/refunds/${id}`)).toMatch(
    /Waiting for the payment to settle since .* Next attempt in 1 h/,
  );
  const createdAt = new Date(Date.now() - 7 * 24 * 60 * minuteMs);
  await service.deps.db.refund.update({ where: { id }, data: { createdAt } });
  await makeDue(service, id);
  await advanceRefund(service.deps, id);
  expect(await pageText(`/refunds/${id}`)).toContain('its payment has not settled at Braintree.');
});

test('names no processor that was not asked since one attempt failed, as while no worker runs', async () => {
  const id = await refund();
  const { db } = service.deps;
  await service.ownerDb.$executeRaw`DELETE FROM refund_work WHERE refund_id <> ${id}`;
  const fail = async (from: string, due: string) => {
    await service.ownerDb.$executeRaw`
      UPDATE refund_work SET retrying_since = service_time() - ${from}::interval, due_at = service_time() - ${due}::interval`;
    const [trouble] = await findAccountsInTrouble(db, {
      organizationId: service.organization.id,
      environment: 'test',
    });
    return trouble && isUnanswered({ ...trouble, acceptsOthers: false }, new Date());
  };
  expect(await fail('1 hour', '59 minutes 59 seconds')).toBe(false);
  expect(await fail('1 hour', '1 second')).toBe(true);
});

test('the heartbeat of a worker removes those that are gone for a day', async () => {
  const { db } = service.deps;
  await noteHeartbeat(db, 'wrk_gone');
  await service.ownerDb
    .$executeRaw`UPDATE worker SET seen_at = seen_at - interval '25 hours' WHERE id = 'wrk_gone'`;
  await noteHeartbeat(db, 'wrk_new');
  const ids = (await db.worker.findMany({ select: { id: true } })).map(({ id }) => id);
  expect(ids).toContain('wrk_new');
  expect(ids).not.toContain('wrk_gone');
});

test('requests and attempts are counted by operation, status and outcome, never by path or organization', async () => {
  const found = 'refund_request_duration_seconds_count{operation="getRefund",status="404"}';
  await expectGrowth(found, 1, async () => {
    await service.call('GET', '/v1/refunds/ref_unknown');
    await service.call('GET', '/v1/nothing-of-ours');
  });
  await startWorker();
  const place = 'processor="stripe",environment="test"';
  const complete = async () => void (await untilStatus(service, await refund(), 'completed'));
  await expectGrowth(`refund_attempts_total{${place},outcome="accepted"}`, 1, complete);
  await expectGrowth(`refund_created_to_settled_seconds_count{${place}}`, 1, complete);
  expect(await metric('refund_pool_connections{pool="main",state="waiting"}')).toBe(0);
  const text = await renderMetrics(service.deps, {});
  expect(text).not.toContain(service.organization.id);
  expect(text).not.toContain('nothing-of-ours');
});

test('metrics are served on a port of their own alone, and only when it is set', async () => {
  const { deps } = service;
  expect((await serveMetrics(deps, {})).port).toBeNull();
  const listener = await serveMetrics({ ...deps, settings: { ...deps.settings, METRICS_PORT: 0 } }, {});
  try {
    const answer = await fetch(`http://127.0.0.1:${listener.port}/metrics`);
    expect(answer.status).toBe(200);
    const text = await answer.text();
    expect(text).toMatch(/^refund_workers_alive \d+$/m);
    expect(text).toMatch(/^refund_nodejs_eventloop_lag_p99_seconds /m);
    expect((await fetch(`http://127.0.0.1:${listener.port}/v1/refunds`)).status).toBe(404);
  } finally {
    await listener.close();
  }
  expect((await service.call('GET', '/metrics')).status).toBe(404);
});
