import { afterEach, beforeAll, describe, expect, test } from 'vitest';
import { digestCustomerTexts, setCustomerTexts } from '#shared/organizations/customer-texts.ts';
import { serviceTexts } from '#shared/refunds/model/customer-texts.ts';
import { newRefund } from '../../support/refunds/new-refund.ts';
import { storePolicies } from '../../support/refunds/stored-policies.ts';
import { useService } from '../../support/use-service.ts';
import { waitFor } from '../../support/wait-for.ts';

const service = useService();
beforeAll(() => service.sandbox.settings({ autoSettleMs: null }));
afterEach(() => service.sandbox.clearFaults());

const get = async (id: string, query = '', headers: Record<string, string> = {}) =>
  await service.call('GET', `/v1/refunds/${id}${query}`, { headers });
const cancel = async (id: string) => await service.call('POST', `/v1/refunds/${id}/cancel`);

const create = async (payment: Record<string, unknown> = {}): Promise<string> =>
  (await newRefund(service, {}, { payment })).id;

async function accepted(options: Record<string, unknown> = {}): Promise<string> {
  const id = await create(options);
  await waitFor('the processor to accept it', async () => (await get(id)).body.data.externalRefundId);
  return id;
}

async function ended(status: string, more: object = {}): Promise<string> {
  const id = await accepted();
  const { externalRefundId } = (await get(id)).body.data;
  await service.sandbox.driveRefund(externalRefundId, { status, ...more });
  await waitFor('it to end', async () => (await get(id)).body.data.status !== 'processing');
  return id;
}

/** The processor never gets it. */
async function unsent(): Promise<string> {
  await service.sandbox.fault({
    processor: 'stripe',
    operation: 'refund.create',
    kind: 'error-503',
    times: null,
  });
  return await create();
}

describe('cancellable tells whether a cancellation sent now succeeds', () => {
  test.each<[what: string, make: () => Promise<string>, cancellable: boolean]>([
    ['was not sent', unsent, true],
    ['is at Stripe, for a card', accepted, false],
    ['is at Stripe, for a bank transfer', () => accepted({ paymentMethod: 'customer_balance' }), true],
    [
      'is at Braintree, not settled',
      () => accepted({ processor: 'braintree', paymentMethod: undefined }),
      true,
    ],
    ['is completed', () => ended('succeeded'), false],
  ])('of a refund that %s', async (_what, make, cancellable) => {
    const id = await make();
    expect((await get(id, '?include=cancellable')).body.data.cancellable).toBe(cancellable);
    expect((await cancel(id)).status).toBe(cancellable ? 200 : 409);
  });
});

test('failure tells why the refund failed, and is null for any other', async () => {
  const id = await ended('failed', { failureReason: 'expired_or_canceled_card' });
  const { failure, ...refund } = (await get(id, '?include=failure')).body.data;
  expect(failure).toEqual({ code: expect.stringMatching(/^\w+$/), message: expect.stringMatching(/\S/) });
  expect(refund).toEqual((await get(id)).body.data);
  const { body } = await service.call('GET', `/v1/refunds/${id}/events`);
  expect(body.data.at(-1)).toMatchObject({ type: 'refund.failed', failure });
  expect((await get(await accepted(), '?include=failure')).body.data.failure).toBeNull();
});

describe('policy tells what was decided when the refund was created', () => {
  const day = 24 * 60 * 60 * 1000;
  const decided = async (id: string) => (await get(id, '?include=policy')).body.data.policy;

  test.each<[policy: object, decision: string]>([
    [{ windowDays: 90 }, 'allowed'],
    [{ approvalAbove: { api: 999 } }, 'approval_required'],
    [{ windowDays: 30 }, 'not_blocked'],
    [{ windowDays: 30, approvalAbove: { api: 0 } }, 'not_blocked'],
  ])('a refund under %j keeps the decision: %s', async (policy, decision) => {
    await storePolicies(service, { name: 'First', ...policy });
    const id = await create({ createdAt: new Date(Date.now() - 60 * day).toISOString() });
    // Later changes of the policies change nothing.
    await storePolicies(service, { name: 'Second' });
    expect(await decided(id)).toEqual({ name: 'First', decision });
    const [first] = (await service.call('GET', `/v1/refunds/${id}/events`)).body.data;
    expect(first.data.refund).not.toHaveProperty('policy');
  });

  test('and is null when no policy matches', async () => {
    await storePolicies(service, { match: { currencies: ['jpy'] } });
    expect(await decided(await create())).toBeNull();
  });
});

test("message has the organization's texts besides and in place of those of the service", async () => {
  const { id: organizationId } = service.organization;
  const own = { ...serviceTexts.en, onItsWay: '{amount}: {date}.' };
  const [texts, basedOn] = [{ it: own, de: own }, digestCustomerTexts(serviceTexts)];
  await setCustomerTexts(service.deps, { organizationId, actor: 'test', basedOn, texts });
  const id = await ended('succeeded');
  const { message, arrival } = (await get(id, '?include=message,arrival')).body.data;
  expect(Object.keys(message)).toEqual(['en', 'de', 'fr', 'es', 'it']);
  for (const language of ['it', 'de']) {
    const day = new Date(arrival.expectedBy).toLocaleDateString(language, { dateStyle: 'long' });
    expect(message[language].replaceAll(/\s/g, ' ')).toMatch(new RegExp(`^10,00 [$USD]+: ${day}.`));
  }
  const { body } = await service.call('GET', '/v1/refunds?include=message&limit=1');
  expect(body.data).toMatchObject([{ id, message }]);
  expect((await get(await ended('failed'), '?include=message')).body.data.message).toBeNull();
});

test('a refund has the fields that were asked for, however the parameter is written', async () => {
  const id = await accepted();
  const fields = async (query: string) => Object.keys((await get(id, query)).body.data);
  const own = await fields('');
  expect(await fields('?include=failure,failure')).toEqual([...own, 'failure']);
  for (const repeated of [
    'include=cancellable,failure',
    'include=failure&include=cancellable',
    'include[]=failure&include%5B%5D=cancellable',
  ]) {
    expect(await fields(`?${repeated}`)).toEqual([...own, 'failure', 'cancellable']);
  }
});

test('a list has the same fields of each refund as the refund itself', async () => {
  const ids = [
    await accepted(),
    await ended('failed'),
    await accepted({ paymentMethod: 'customer_balance' }),
  ];
  const query = '?include=failure&include=cancellable';
  const { body } = await service.call('GET', `/v1/refunds${query}&limit=3`);
  const single = await Promise.all(ids.toReversed().map(async (id) => (await get(id, query)).body.data));
  expect(body.data).toEqual(single);
  expect(body.data.map(({ cancellable }: { cancellable: boolean }) => cancellable)).toEqual([
    true,
    false,
    false,
  ]);
});

test.each(['', 'failure,', 'failure,events', 'Failure'])('include=%s is refused', async (include) => {
  const { status, body } = await get('ref_1', `?include=${encodeURIComponent(include)}`);
  expect([status, body.error.message]).toEqual([
    400,
    'include: must be some of: failure, cancellable, arrival, policy, heldUntil, waiting, account, options, message; repeat it or separate them by commas',
  ]);
});
