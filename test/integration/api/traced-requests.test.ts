import { beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { noTelemetry, type TracedRequest } from '#shared/platform/telemetry/telemetry.ts';
import { useAgents } from '../../support/agents/use-agents.ts';
import { type DashboardMember, signInMember } from '../../support/dashboard/dashboard-member.ts';
import { newPayment } from '../../support/refunds/payments.ts';
import { useService } from '../../support/use-service.ts';

const recorded: TracedRequest[] = [];
const telemetry = { ...noTelemetry, recordRequest: (request: TracedRequest) => void recorded.push(request) };
const service = useService({ workers: 0, settings: { CREATE_WAIT_MS: 0 }, overrides: { telemetry } });
const agents = useAgents(service);

let operator: DashboardMember;
beforeAll(async () => {
  operator = await signInMember(service, 'operator');
});

let transactionId: string;
beforeEach(async () => {
  transactionId = await newPayment(service);
  recorded.length = 0;
});

const body = () => ({ transactionId, amount: 1_000, reason: 'other' });
const create = (headers: Record<string, string> = {}) =>
  service.call('POST', '/v1/refunds', { body: body(), headers });
const refundId = async () => (await service.deps.db.refund.findFirstOrThrow({ where: { transactionId } })).id;

/** Creates a refund in the dashboard, as a browser does. */
async function createInDashboard(): Promise<void> {
  const url = `/dashboard/${service.organization.id}/test/refunds/new`;
  const { text } = await operator.visitor.get(url);
  const [, formKey = ''] = /name="formKey" value="([^"]+)"/.exec(text) ?? [];
  const entered = { transactionId, amount: '10.00', currency: 'usd', reason: 'other', metadata: '' };
  await operator.visitor.post(url, { ...entered, formKey, step: 'confirm' });
}

describe('the trace of a refund begins with the request that created it', () => {
  test.each<[string, string, () => Promise<unknown>]>([
    ['the API', 'POST /v1/refunds', create],
    ['a tool for agents', 'POST /mcp', async () => (await agents.connect()).call('create_refund', body())],
    ['the dashboard', 'POST /dashboard/:organizationId/:environment/refunds/new', createInDashboard],
  ])('with a refund that is created through %s', async (_where, name, request) => {
    await request();
    expect(recorded.filter(({ refund }) => refund !== null)).toMatchObject([
      { name, refund: { id: await refundId(), isNew: true } },
    ]);
  });
});

test('a repeated creation and a cancellation belong to the trace, and reads and refused requests do not', async () => {
  const key = { 'idempotency-key': 'the-same' };
  await create(key);
  await create(key);
  const id = await refundId();
  await service.call('GET', `/v1/refunds/${id}`);
  await service.call('POST', `/v1/refunds/${id}/cancel`);
  await service.call('POST', `/v1/refunds/${id}/cancel`, { key: service.organization.keys.live.plaintext });
  await service.call('POST', '/v1/refunds', { body: {} });
  expect(recorded.map(({ attributes, refund }) => [attributes['http.response.status_code'], refund])).toEqual(
    [
      [200, { id, isNew: true }],
      [200, { id, isNew: false }],
      [200, null],
      [200, { id, isNew: false }],
      [404, null],
      [400, null],
    ],
  );
});

test('a request without a valid API key is not recorded', async () => {
  expect((await service.call('GET', '/v1/refunds', { key: 'svc_test_unknown' })).status).toBe(401);
  expect(recorded).toEqual([]);
});
