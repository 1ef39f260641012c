import { afterEach, beforeEach, expect, onTestFinished, test, vi } from 'vitest';
import { setProcessorAccount } from '#shared/processors/accounts/manage-accounts.ts';
import { approveRefund } from '#shared/refunds/decisions/approve.ts';
import { endRecovery, requireRecovery } from '#shared/refunds/lifecycle/recovery.ts';
import { RefundWatcher } from '#shared/refunds/lifecycle/refund-watcher.ts';
import { sandboxCredentials } from '../../sandbox/processors.ts';
import { newPerson } from '../../support/people.ts';
import { json, useScriptedServers } from '../../support/processors/scripted-server.ts';
import { advanceRefund } from '../../support/refunds/advance-refund.ts';
import { newRefund } from '../../support/refunds/new-refund.ts';
import { makeDue, rowOf } from '../../support/refunds/refund-records.ts';
import { storePolicies } from '../../support/refunds/stored-policies.ts';
import { untilChange } from '../../support/service.ts';
import { useService } from '../../support/use-service.ts';

// Why a refund is not moving, as clients see it. No worker: steps are taken here, and a refund that is tried again later stays so.
const hourMs = 3_600_000;
const service = useService({
  workers: 0,
  settings: { RETRY_BASE_MS: hourMs, RETRY_CAP_MS: hourMs, MISCONFIGURED_RETRY_MS: hourMs },
});
const serve = useScriptedServers();

beforeEach(async () => {
  await service.sandbox.settings({ autoSettleMs: null });
  await storePolicies(service, {});
  await setStripe({});
});
afterEach(async () => {
  await service.sandbox.clearFaults();
  await endRecovery(service.deps.db);
});

const place = () =>
  ({ organizationId: service.organization.id, environment: 'test', processor: 'stripe' }) as const;

async function setStripe(credentials: object): Promise<void> {
  const { stripe } = sandboxCredentials('test', service.sandboxUrl);
  await setProcessorAccount(service.deps, {
    ...place(),
    credentials: { ...stripe, ...credentials },
    actor: 'test',
  });
}

/** Stripe, with another answer to the creation of a refund: a refusal of it, or changes of the refund that it makes. */
async function stripeThatAnswers(change: { refusal: { status: number; error: object } } | { made: object }) {
  const { url } = await serve(async ({ method, path, headers, body }, response) => {
    const isCreation = method === 'POST' && path === '/v1/refunds';
    if (isCreation && 'refusal' in change) {
      const { status, error } = change.refusal;
      return json(response, status, { error });
    }
    const { host: _, 'content-length': _length, connection: _connection, ...kept } = headers;
    const answer = await fetch(`${service.sandboxUrl}${path}`, {
      ...{ method, headers: kept as Record<string, string> },
      ...(method === 'POST' ? { body } : {}),
    });
    const given = (await answer.json()) as object;
    json(response, answer.status, isCreation && 'made' in change ? { ...given, ...change.made } : given);
  });
  await setStripe({ apiBase: url });
}

const refused = (status: number, error: object) => stripeThatAnswers({ refusal: { status, error } });
const made = (changes: object) => stripeThatAnswers({ made: changes });
const fault = (operation: string, kind: string) =>
  service.sandbox.fault({ processor: 'stripe', operation, kind, times: null });

/** A refund that was advanced, of a new payment. */
async function advanced(
  body: Record<string, unknown> = {},
  payment: Record<string, unknown> = {},
): Promise<string> {
  const { id } = await newRefund(service, body, { payment });
  await advanceRefund(service.deps, id);
  return id;
}

const read = async (id: string) =>
  (await service.call('GET', `/v1/refunds/${id}?include=waiting,arrival`)).body.data;

const expiresAt = Math.floor(Date.now() / 1_000) + 30 * 86_400;
const short = { type: 'invalid_request_error', message: 'Insufficient funds in your Stripe balance.' };
const approval = { type: 'invalid_request_error', code: 'approval_required', message: 'Held.' };

test.each<[situation: string, make: () => Promise<string>, reason: string | null, until: 'later' | null]>([
  ['that no worker has taken yet', async () => (await newRefund(service)).id, null, null],
  [
    'that a policy requires a person to approve',
    async () => {
      await storePolicies(service, { approvalAbove: { api: 0 } });
      return await advanced();
    },
    'approval',
    null,
  ],
  [
    'that a policy holds',
    async () => {
      await storePolicies(service, { holdSeconds: { api: 600 } });
      return await advanced();
    },
    'hold',
    'later',
  ],
  [
    'whose payment cannot be read while the processor is down',
    async () => {
      await fault('transaction.get', 'reset');
      return await advanced();
    },
    'processor_unreachable',
    'later',
  ],
  [
    'that is accepted and cannot be read',
    async () => {
      const id = await advanced();
      await fault('refund.get', 'error-503');
      await makeDue(service, id);
      await advanceRefund(service.deps, id);
      return id;
    },
    'processor_unreachable',
    'later',
  ],
  [
    'of an account that makes too many calls',
    async () => {
      await fault('refund.create', 'rate-limit');
      return await advanced();
    },
    'rate_limited',
    'later',
  ],
  [
    'of an account whose credentials are refused',
    async () => {
      const { id } = await newRefund(service);
      await setStripe({ secretKey: 'sk_test_invalid' });
      await advanceRefund(service.deps, id);
      return id;
    },
    'credentials',
    'later',
  ],
  [
    'that Stripe refuses, because the balance is too low',
    async () => {
      await refused(400, short);
      return await advanced();
    },
    'insufficient_balance',
    'later',
  ],
  [
    'that Stripe accepts, although the balance is too low',
    async () => {
      await made({ status: 'pending', pending_reason: 'insufficient_funds' });
      return await advanced();
    },
    'insufficient_balance',
    null,
  ],
  [
    'of a part of a payment that has not settled at Braintree',
    () =>
      advanced(
        { processor: 'braintree' },
        { processor: 'braintree', status: 'submitted_for_settlement', paymentMethod: undefined },
      ),
    'payment_unsettled',
    'later',
  ],
  [
    'of a charge that is pending at Stripe',
    async () => {
      await made({ status: 'pending', pending_reason: 'charge_pending' });
      return await advanced();
    },
    'payment_unsettled',
    null,
  ],
  [
    'for which the customer has to enter bank details',
    async () => {
      const display_details = { email_sent: { email_sent_at: expiresAt, email_sent_to: 'a@b.c' } };
      const next_action = {
        type: 'display_details',
        display_details: { ...display_details, expires_at: expiresAt },
      };
      await made({ status: 'requires_action', next_action });
      return await advanced();
    },
    'customer_action',
    'later',
  ],
  [
    'whose attempt got no answer',
    async () => {
      await fault('refund.create', 'reset');
      return await advanced();
    },
    'unknown_outcome',
    'later',
  ],
  [
    'that Stripe holds for a reviewer',
    async () => {
      await refused(402, approval);
      return await advanced();
    },
    'approval_at_processor',
    null,
  ],
  ['that is on its way', () => advanced(), 'settlement', null],
  [
    'of a database that was restored',
    async () => {
      const { id } = await newRefund(service);
      await requireRecovery(service.deps.db);
      await advanceRefund(service.deps, id);
      return id;
    },
    'recovery',
    null,
  ],
])('a refund %s says so', async (_situation, make, reason, until) => {
  const id = await make();
  const { waiting, createdAt } = await read(id);
  expect(waiting?.reason ?? null).toBe(reason);
  if (waiting === null) return;
  expect(+new Date(waiting.since)).toBeGreaterThanOrEqual(+new Date(createdAt));
  expect(waiting.until === null ? null : waiting.until > waiting.since && 'later').toBe(until);
  const listed = (await service.call('GET', '/v1/refunds?include=waiting&limit=1')).body.data;
  expect(listed).toMatchObject([{ id, waiting }]);
});

test('a refund waits since the first step that found the reason, until one finds another', async () => {
  await refused(400, short);
  const id = await advanced();
  const first = (await read(id)).waiting;
  await makeDue(service, id);
  await advanceRefund(service.deps, id);
  expect((await read(id)).waiting).toMatchObject({ reason: 'insufficient_balance', since: first.since });
  await setStripe({});
  await makeDue(service, id);
  await advanceRefund(service.deps, id);
  const { waiting } = await read(id);
  expect(waiting).toMatchObject({ reason: 'settlement', until: null });
  expect(waiting.since > first.since).toBe(true);
});

test('a hold counts from the approval', async () => {
  await storePolicies(service, { holdSeconds: { api: 600 }, approvalAbove: { api: 0 } });
  const { id } = await newRefund(service);
  const { userId } = await newPerson(service.deps, service.organization.id, 'admin');
  await approveRefund(service.deps, await rowOf(service, id), `user:${userId}`);
  const { waiting, createdAt } = await read(id);
  expect(waiting.reason).toBe('hold');
  expect(waiting.since > createdAt).toBe(true);
});

test('a refund that has ended waits for nothing', async () => {
  await service.sandbox.settings({ autoSettleMs: 0 });
  const id = await advanced();
  expect(await read(id)).toMatchObject({ status: 'completed', waiting: null });
});

test('while the processor holds the money, no day is promised, also when it cannot be read', async () => {
  await made({ status: 'pending', pending_reason: 'insufficient_funds' });
  const id = await advanced();
  const held = { kind: 'credit', expectedBy: null };
  expect(await read(id)).toMatchObject({ arrival: held });
  await fault('refund.get', 'error-503');
  await makeDue(service, id);
  await advanceRefund(service.deps, id);
  expect(await read(id)).toMatchObject({ arrival: held, waiting: { reason: 'insufficient_balance' } });
});

test('a request that waits for another status gets what the refund waits for by then', async () => {
  const { id } = await newRefund(service);
  // Its time is over when the refund has taken a step, which leaves the status as it was.
  const waits = vi.spyOn(RefundWatcher.prototype, 'waitFor').mockImplementation(async () => {
    await advanceRefund(service.deps, id);
    return null;
  });
  const answer = service.call('GET', `/v1/refunds/${id}?include=waiting`, { headers: untilChange });
  onTestFinished(() => waits.mockRestore());
  expect((await answer).body.data.waiting.reason).toBe('settlement');
});
