import { beforeAll, describe, expect, test } from 'vitest';
import { RefundClient, type RefundEvent } from '#shared/client/index.ts';
import { createApiKey } from '#shared/organizations/api-keys.ts';
import { setPolicies } from '#shared/policies/stored-policies.ts';
import { connectClient } from '../../support/http/connect-client.ts';
import { newPayment } from '../../support/refunds/payments.ts';
import { useService } from '../../support/use-service.ts';

const service = useService();
let client: RefundClient;
beforeAll(async () => {
  client = await connectClient(service);
});

const refundOf = (transactionId: string) => ({ transactionId, amount: 1_000, reason: 'other' }) as const;
const create = async (options = {}) => client.refunds.create(refundOf(await newPayment(service)), options);

describe('the client', () => {
  test('creates a refund, waits for its outcome and reads its events', async () => {
    await service.sandbox.settings({ autoSettleMs: 300 });
    const asked = { ...refundOf(await newPayment(service)), metadata: { order: [1, null] } };
    const created = await client.refunds.create(asked);
    expect(created).toMatchObject({ ...asked, currency: 'usd', status: 'processing', initiatedBy: 'api' });
    expect(created.externalRefundId).toMatch(/^re_/);
    const completed = await client.refunds.get(created.id, { wait: 20 });
    expect(completed).toMatchObject({ id: created.id, status: 'completed' });
    const events: RefundEvent[] = await client.refunds.events(created.id);
    expect(events.map(({ type, refundId }) => [type, refundId])).toEqual([
      ['refund.created', created.id],
      ['refund.completed', created.id],
    ]);
  });

  test('does not wait for the outcome when asked not to', async () => {
    await service.sandbox.settings({ autoSettleMs: null, latencyMs: 300 });
    const refund = await create({ wait: 0 });
    expect(refund.externalRefundId).toBeNull();
    await service.sandbox.settings({ latencyMs: 0 });
  });

  test('cancels a refund', async () => {
    await service.sandbox.settings({ autoSettleMs: null });
    const { id } = await client.refunds.create(
      refundOf(await newPayment(service, { paymentMethod: 'customer_balance' })),
    );
    expect(await client.refunds.cancel(id)).toMatchObject({ id, status: 'cancelled' });
  });

  test('checks a payment against the policies', async () => {
    const transactionId = await newPayment(service);
    expect(await client.policies.check({ transactionId })).toMatchObject({
      eligible: true,
      maxAmount: 10_000,
    });
    const above = await client.policies.check({ transactionId, amount: 10_001 });
    expect(above).toMatchObject({ eligible: false, maxAmount: 10_000 });
  });

  test('reads a page of events and waits for the next one', async () => {
    const { organization, addOrganization } = service;
    const { plaintext: apiKey } = (await addOrganization('Quiet')).keys.test;
    expect(organization.keys.test.plaintext).not.toBe(apiKey);
    const quiet = await connectClient(service, { apiKey });
    expect(await quiet.events.list()).toEqual({ data: [], nextAfter: null, hasMore: false });
    const waiting = quiet.events.list({ wait: 20 });
    const { id } = await quiet.refunds.create(refundOf(await newPayment(service)));
    const { data, nextAfter } = await waiting;
    expect(data[0]).toMatchObject({ type: 'refund.created', refundId: id });
    expect(await quiet.events.list({ after: nextAfter ?? '', type: 'refund.failed' })).toMatchObject({
      data: [],
    });
  });

  test('includes further fields of a refund', async () => {
    await service.sandbox.settings({ autoSettleMs: null });
    const { id } = await create();
    expect(await client.refunds.get(id)).not.toHaveProperty('cancellable');
    const detailed = await client.refunds.get(id, { include: ['failure', 'cancellable'] });
    expect(detailed).toMatchObject({ id, failure: null, cancellable: expect.any(Boolean) });
  });

  test('filters by time, amount and metadata', async () => {
    const { id, createdAt } = await client.refunds.create({
      ...refundOf(await newPayment(service)),
      amount: 1_234,
      metadata: { 'order no': 'A&B=1', paid: true },
    });
    const filters = { amountMin: 1_234, amountMax: 1_234, createdAfter: createdAt, currency: 'usd' };
    for (const metadata of [undefined, { 'order no': 'A&B=1', paid: 'true' }]) {
      expect(await client.refunds.list({ ...filters, metadata })).toMatchObject([{ id }]);
    }
    expect(await client.refunds.list({ ...filters, metadata: { paid: 'false' } })).toEqual([]);
  });

  test('tries a creation out without creating anything', async () => {
    const refund = refundOf(await newPayment(service));
    expect(await client.refunds.dryRun(refund)).toMatchObject({ wouldCreate: true, maxAmount: 10_000 });
    const above = await client.refunds.dryRun({ ...refund, amount: 10_001 });
    expect(above).toMatchObject({ wouldCreate: false, error: { code: 'validation_error' } });
    expect(await client.refunds.list({ transactionId: refund.transactionId })).toEqual([]);
  });

  test('approves and rejects refunds that await approval', async () => {
    const { id: organizationId, keys } = await service.addOrganization('Careful');
    const policies = [{ name: 'Ask', priority: 1, approvalAbove: { api: 0 } }];
    await setPolicies(service.deps, { organizationId, file: { policies }, actor: 'test' });
    const scopes = ['refunds:read', 'refunds:approve'] as const;
    const key = { organizationId, environment: 'test', actor: 'cli:approver', scopes } as const;
    const { plaintext: apiKey } = await createApiKey(service.deps, key);
    const [requester, approver] = await Promise.all(
      [keys.test.plaintext, apiKey].map((plaintext) => connectClient(service, { apiKey: plaintext })),
    );
    const transactionId = await newPayment(service);
    const [first, second] = await Promise.all(
      [1, 2].map(() => requester?.refunds.create(refundOf(transactionId))),
    );
    expect([first?.status, second?.status]).toEqual(['pending', 'pending']);
    const refused = requester?.refunds.approve(first?.id ?? '');
    await expect(refused).rejects.toMatchObject({ code: 'insufficient_scope' });
    expect(await approver?.refunds.approve(first?.id ?? '')).toMatchObject({ status: 'processing' });
    const reason = 'The customer wants an exchange.';
    expect(await approver?.refunds.reject(second?.id ?? '', { reason })).toMatchObject({
      status: 'cancelled',
    });
  });

  test('manages agent keys', async () => {
    const limits = { currency: 'usd', maxPerRefund: 500 };
    const owner = { organizationId: service.organization.id, environment: 'test', actor: 'test' } as const;
    const manager = await createApiKey(service.deps, { ...owner, scopes: ['keys:manage'] });
    const { agentKeys } = await connectClient(service, { apiKey: manager.plaintext });
    const { key, ...created } = await agentKeys.create({ name: 'Support agent', limits });
    const agent = await connectClient(service, { apiKey: key });
    const above = agent.refunds.create(refundOf(await newPayment(service)));
    await expect(above).rejects.toMatchObject({ status: 403 });
    expect(await agentKeys.list()).toMatchObject([{ id: created.id, name: 'Support agent', limits }]);
    const stopped = await agentKeys.update(created.id, { status: 'stopped' });
    expect(stopped).toMatchObject({ id: created.id, status: 'stopped' });
    await expect(agent.refunds.list()).rejects.toMatchObject({ code: 'insufficient_scope' });
    expect(await agentKeys.revoke(created.id)).toMatchObject({ id: created.id });
    await expect(agent.refunds.list()).rejects.toMatchObject({ code: 'invalid_api_key' });
  });

  test('uses an address with a path', async () => {
    const asked: string[] = [];
    const fetch = async (url: string | URL | Request) => {
      asked.push(String(url));
      return Response.json({ data: [] });
    };
    const { refunds } = new RefundClient({
      baseUrl: 'https://example.com/refunds//',
      apiKey: 'svc_test_1',
      fetch,
    });
    await refunds.list({ status: 'failed' });
    await refunds.get('ref_/../x');
    expect(asked).toEqual([
      'https://example.com/refunds/v1/refunds?status=failed',
      'https://example.com/refunds/v1/refunds/ref_%2F..%2Fx',
    ]);
    for (const id of ['', '.', '..']) await expect(refunds.get(id)).rejects.toThrow('is not an id');
    expect(asked).toHaveLength(2);
  });

  test.each([
    ['a missing key', { apiKey: undefined as never }, 'apiKey:'],
    ['a key with a line break', { apiKey: 'svc_test_1\n' }, 'apiKey:'],
    ['an address without a scheme', { baseUrl: 'refunds.example.com' }, 'baseUrl:'],
    ['a missing address', { baseUrl: undefined as never }, 'baseUrl:'],
  ])('refuses %s at once', (_what, wrong, message) => {
    const options = { baseUrl: 'https://example.com', apiKey: 'svc_test_1', ...wrong };
    expect(() => new RefundClient(options)).toThrow(message);
  });
});
