import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest';
import { openHealthReads } from '#shared/health/read-health.ts';
import { renderMetrics } from '#shared/metrics/serve-metrics.ts';
import type { Refund } from '#shared/platform/database.ts';
import { newId } from '#shared/platform/ids.ts';
import { policyFileSchema } from '#shared/policies/policy-file.ts';
import { listPolicies, setPolicies } from '#shared/policies/stored-policies.ts';
import { EventComparisons, receiveWebhook } from '#shared/refunds/lifecycle/processor-events.ts';
import type { ProcessorName } from '../../sandbox/processors.ts';
import { spyOnCalls } from '../../support/processors/around-calls.ts';
import { type SignedWebhook, webhookAbout } from '../../support/processors/signed-webhooks.ts';
import { reportOf, useWebhooks } from '../../support/processors/webhooks.ts';
import { advanceRefund } from '../../support/refunds/advance-refund.ts';
import { newRefund } from '../../support/refunds/new-refund.ts';
import { newPayment } from '../../support/refunds/payments.ts';
import { makeDue, type RefundRecord, rowOf } from '../../support/refunds/refund-records.ts';
import { agentKey } from '../../support/refunds/refund-requests.ts';
import { storePolicies } from '../../support/refunds/stored-policies.ts';
import { type Recording, recordStatements } from '../../support/stores/statements.ts';
import { useService } from '../../support/use-service.ts';

// What a step may cost at most, in statements that reach PostgreSQL, BEGIN and COMMIT among them, without concurrent
// requests. The queues' own do not count: they would be on Redis as well.

let recording: Recording;
beforeAll(() => {
  recording = recordStatements();
});
afterAll(() => recording.stop());

const hour = 3_600_000;
// No worker: jobs are done here, one after the other. The clock asks no database for the time.
const service = useService({
  workers: 0,
  settings: { SETTLEMENT_BASE_MS: hour, SETTLEMENT_CAP_MS: hour },
  overrides: { clock: { now: () => new Date() } },
});
const webhooks = useWebhooks(service);

/** The processors for which a worker was woken. */
const woken: string[] = [];

beforeEach(async () => {
  vi.spyOn(service.deps.queues, 'wake').mockImplementation((processor) => void woken.push(processor));
  await service.sandbox.settings({ autoSettleMs: null, webhooks: [] });
  // Its use is noted once a minute, which these steps have no part in.
  await service.deps.db.apiKey.updateMany({ data: { lastUsedAt: new Date(Date.now() + hour) } });
  // Connected accounts stay connected.
  for (const processor of ['stripe', 'braintree']) await accepted(processor);
});
afterEach(() => vi.restoreAllMocks());

function expectAtMost(statements: readonly string[], budget: number): void {
  expect(statements.length, 'nothing was recorded').toBeGreaterThan(0);
  expect(statements.length, statements.join('\n---\n')).toBeLessThanOrEqual(budget);
}

/** The calls to processors from here on. */
function watchCalls(): string[] {
  const calls: string[] = [];
  spyOnCalls(service, (name, call) => {
    calls.push(name);
    return call();
  });
  return calls;
}

async function create(
  { processor, transactionId }: { processor: string; transactionId: string },
  headers: Record<string, string> = {},
): Promise<string> {
  return (await newRefund(service, { processor, transactionId }, { headers })).id;
}

const created = async (processor: string): Promise<string> => (await newRefund(service, { processor })).id;

/** One that the processor has accepted and not settled. */
async function accepted(processor: string): Promise<RefundRecord> {
  const id = await created(processor);
  await advanceRefund(service.deps, id);
  const refund = await rowOf(service, id);
  expect(refund.externalRefundId).not.toBeNull();
  return refund;
}

const filters = 'transactionId=ch_1&reason=other&amountMin=1&createdAfter=2020-01-01&metadata[order]=5';

test.each([
  ['a refund with all that its row has', 'refunds/ID?include=failure,cancellable,arrival,heldUntil', 2],
  ['refunds with filters after another', `refunds?${filters}&after=ID`, 2],
  ['what was decided about refunds, however many they are', 'refunds?include=policy', 3],
  ['a payment on record', 'payments/PAYMENT', 4],
  ['a page of the feed', 'events', 2],
  ["a refund's events", 'refunds/ID/events', 2],
])('a request for %s', async (_what, path, most) => {
  const { id, transactionId } = await accepted('stripe');
  const url = `/v1/${path.replace('ID', id).replace('PAYMENT', transactionId)}`;
  const read = async () => expect((await service.call('GET', url)).status).toBe(200);
  expectAtMost(await recording.during(read), most);
});

describe.each(['stripe', 'braintree'] as const)('at %s', (processor) => {
  const payment = async () => await newPayment(service, { processor });

  test('a creation for a stored payment: 4, without a call to the processor', async () => {
    const transactionId = await payment();
    await create({ processor, transactionId });
    const calls = watchCalls();
    // Also by the other id of the payment, and when it is repeated.
    const ids = processor === 'stripe' ? [transactionId, `pi_${transactionId.slice(3)}`] : [transactionId];
    for (const id of ids.flatMap((each) => [each, each])) {
      const body = { processor, transactionId: id };
      const headers = { 'idempotency-key': `known-${id}` };
      expectAtMost(await recording.during(() => create(body, headers)), 4);
    }
    const all = { transactionId, amount: undefined, remaining: true, processor };
    expectAtMost(await recording.during(() => newRefund(service, all)), 4);
    expect(calls).toEqual([]);
  });

  test('a creation with an agent key, whatever limits it: 4', async () => {
    const transactionId = await payment();
    const key = await agentKey(service, {
      ...{ maxPerRefund: 2_000, maxPerPayment: 9_000, maxPerDay: 9_000, reasons: ['other'] },
      approvalAbove: 9_000,
    });
    await service.deps.db.apiKey.updateMany({ data: { lastUsedAt: new Date(Date.now() + hour) } });
    const headers = { authorization: `Bearer ${key.plaintext}` };
    expectAtMost(await recording.during(() => create({ processor, transactionId }, headers)), 4);
  });

  test('a creation under limits per requester: 5', async () => {
    const transactionId = await payment();
    await create({ processor, transactionId });
    const stored = await listPolicies(service.deps.db, service.organization.id);
    const approvalAbovePerRequesterDay = { api: 10_000_000 };
    const velocity = { perRequesterDay: { count: 1_000 } };
    await storePolicies(service, { approvalAbovePerRequesterDay, velocity, enforce: { api: true } });
    expectAtMost(await recording.during(() => create({ processor, transactionId })), 5);
    const file = { policies: policyFileSchema.encode({ policies: stored }).policies };
    await setPolicies(service.deps, { organizationId: service.organization.id, file, actor: 'test' });
  });

  test('a creation for a new payment: 4, with one read from the processor', async () => {
    const transactionId = await payment();
    const calls = watchCalls();
    expectAtMost(await recording.during(() => create({ processor, transactionId })), 4);
    expect(calls).toEqual(['getPayment']);
  });

  test('a submission and its outcome: 3', async () => {
    const id = await created(processor);
    const calls = watchCalls();
    expectAtMost(await recording.during(() => advanceRefund(service.deps, id)), 3);
    expect(calls).toEqual(['createRefund']);
    expect(await rowOf(service, id)).toMatchObject({ attemptCount: 1, attempts: [{ outcome: 'accepted' }] });
  });

  test('a settlement check: 2', async () => {
    const { id, externalRefundId } = await accepted(processor);
    const look = async () => await recording.during(() => advanceRefund(service.deps, id));
    await makeDue(service, id);
    const calls = watchCalls();
    expectAtMost(await look(), 2);
    await service.sandbox.driveRefund(externalRefundId ?? '', { status: settled[processor] });
    await makeDue(service, id);
    expectAtMost(await look(), 2);
    expect(calls).toEqual(['getRefund', 'getRefund']);
    expect((await rowOf(service, id)).status).toBe('completed');
  });

  test('a webhook that agrees with the record: 1, without a call or a wake-up', async () => {
    const refund = await accepted(processor);
    const calls = watchCalls();
    woken.length = 0;
    expectAtMost(await report(processor, refund), 1);
    expect([calls, woken]).toEqual([[], []]);
  });
});

/** The statements of a webhook about a refund as it is given. */
async function report(processor: ProcessorName, refund: Refund): Promise<string[]> {
  const reported = { ...reportOf(refund), processorStatus: refund.processorStatus ?? '' };
  const webhook = webhookAbout(processor, reported);
  const address = await webhooks.addressOf(processor);
  return await recording.during(async () => {
    expect((await webhooks.send(processor, webhook, address)).status).toBe(200);
  });
}

test('webhooks that arrive together share a statement, also with wrong signatures and to unknown accounts', async () => {
  const { id } = await service.deps.db.processorAccount.findFirstOrThrow({
    where: { organizationId: service.organization.id, environment: 'test', processor: 'stripe' },
  });
  const refund = await accepted('stripe');
  const genuine = webhookAbout('stripe', {
    ...reportOf(refund),
    processorStatus: refund.processorStatus ?? '',
  });
  const forged = { ...genuine, body: `${genuine.body} ` };
  const events = new EventComparisons(service.deps, new AbortController().signal);
  const receive = ({ body, headers }: SignedWebhook, accountId: string) =>
    receiveWebhook(
      { ...service.deps, events },
      { processor: 'stripe', accountId },
      { body: Buffer.from(body), headers },
    ).then(
      ({ outcome }) => outcome,
      ({ code }) => code,
    );
  const outcomes = new Set<string>();
  const statements = await recording.during(async () => {
    const each = Array.from({ length: 30 }, () => [
      receive(genuine, id),
      receive(forged, id),
      receive(genuine, newId('acc')),
    ]);
    for (const outcome of await Promise.all(each.flat())) outcomes.add(outcome);
  });
  expect(outcomes).toEqual(new Set(['agrees', 'not-verified', 'not_found']));
  expectAtMost(statements, 1);
});

test('scrapes and probes that come together: 1, and a request that is measured: none more', async () => {
  const deps = { ...service.deps, health: openHealthReads(service.deps.db) };
  const scrapes = await recording.during(() =>
    Promise.all([renderMetrics(deps, {}), renderMetrics(deps, {}), deps.health()]),
  );
  expectAtMost(scrapes, 1);
  const id = await created('stripe');
  const { requestSeconds } = service.deps.metrics;
  const measured = vi.spyOn(requestSeconds, 'observe');
  expectAtMost(await recording.during(() => service.call('GET', `/v1/refunds/${id}`)), 2);
  expect(measured).toHaveBeenCalledTimes(1);
});

const settled = { stripe: 'succeeded', braintree: 'settled' } as const;
