import fc from 'fast-check';
import { beforeAll, expect, test } from 'vitest';
import { apiKeyScopes, createApiKey } from '#shared/organizations/api-keys.ts';
import { useExposedService } from '../../support/http/exposed-service.ts';
import { type Operation, readDocument, type ServedDocument } from '../../support/http/openapi-document.ts';
import { expectInvariants } from '../../support/refunds/invariants.ts';
import { newPayment } from '../../support/refunds/payments.ts';
import { headerText, jsonLike, mostly, requestsTo } from '../../support/storm/requests.ts';
import { arbitraryOf, type KnownValues } from '../../support/storm/schema-arbitrary.ts';
import { checkDeclared, enough, storm, stormSettings } from '../../support/storm/storm.ts';
import { waitFor } from '../../support/wait-for.ts';
import { newEndpoint, storeDelivery } from '../../support/webhooks/api-endpoints.ts';

// The tests run in this order.
const exposed = useExposedService(stormSettings);
let served: ServedDocument;
let known: KnownValues;
let endpointIds: string[];
let batchIds: string[];
let credentials: fc.Arbitrary<Record<string, string>>;

beforeAll(async () => {
  const { service } = exposed;
  await service.sandbox.settings({ autoSettleMs: 200 });
  served = await readDocument(service);
  const processors = [...Array<'stripe'>(60).fill('stripe'), ...Array<'braintree'>(20).fill('braintree')];
  // Few of them, so that refunds of one payment meet each other.
  const payments = await Promise.all(processors.map((processor) => newPayment(service, { processor })));
  const allowed = { organizationId: service.organization.id, environment: 'test', actor: 'test' } as const;
  const { plaintext: key } = await createApiKey(service.deps, { ...allowed, scopes: apiKeyScopes });
  // Not sent before a worker starts, so that some can be cancelled.
  for (const transactionId of payments.slice(0, 20)) {
    await service.call('POST', '/v1/refunds', { key, body: { transactionId, amount: 1, reason: 'other' } });
  }
  const others = [
    (await service.addOrganization('Another')).keys.test.plaintext,
    service.organization.keys.live.plaintext,
  ];
  endpointIds = (await Promise.all([1, 2, 3, 4].map(() => newEndpoint(service)))).map(({ id }) => id);
  const batches = [1, 2].map(async (amount) => {
    const rows = [{ transactionId: payments[20], amount, reason: 'other' }];
    const { body } = await service.call('POST', '/v1/refund-batches', { key, body: { rows } });
    await service.call('POST', `/v1/refund-batches/${body.data.id}/pause`, { key });
    return String(body.data.id);
  });
  batchIds = await Promise.all(batches);
  // No worker runs yet that would pause them.
  await service.deps.db.refundBatch.updateMany({ data: { status: 'paused', dueAt: null } });
  const deliveries = await Promise.all(
    endpointIds.map((id) => storeDelivery(service, id, { type: 'refund.created' })),
  );
  const garbled = fc.constantFrom('', 'Bearer', `Basic ${key}`, `Bearer ${key}x`, `Bearer  ${key}`);
  credentials = mostly(
    fc.constant(`Bearer ${key}`),
    fc.oneof(fc.constantFrom(...others.map((other) => `Bearer ${other}`)), garbled, headerText),
    12,
  ).map((authorization) => ({ authorization }));
  known = {
    deliveryId: fc.constantFrom(...deliveries.map(({ id }) => id)),
    url: fc.constantFrom('http://127.0.0.1:9/hooks', 'https://127.0.0.1:9/?a=b', 'http://a:b@127.0.0.1/'),
    transactionId: mostly(
      fc.constantFrom(...payments),
      fc.constantFrom('ch_missing', 'ch_declined1', 'storm1', 'x'.repeat(255)),
      10,
    ),
    currency: mostly(fc.constant('usd'), fc.constantFrom('USD', 'eur', 'jpy'), 3),
    processor: mostly(fc.constant('stripe'), fc.constantFrom('braintree', 'paypal'), 3),
  };
});

const wellKnownHeaders: Record<string, fc.Arbitrary<string>> = {
  'idempotency-key': fc.oneof(
    { arbitrary: fc.integer({ min: 1, max: 200 }).map((number) => `storm-${number}`), weight: 3 },
    { arbitrary: fc.uuid(), weight: 3 },
    { arbitrary: fc.oneof(headerText, fc.constantFrom('k'.repeat(255), 'k'.repeat(256))), weight: 1 },
  ),
  prefer: fc.oneof(
    fc.constantFrom('respond-async', 'wait=0', 'wait=1', 'wait=99999999', 'wait=-1', 'wait=1, wait=2'),
    headerText,
  ),
};

async function strike({ method, path, operation }: Operation): Promise<Record<string, number>> {
  const { db } = exposed.service.deps;
  const refunds = await db.refund.findMany({ select: { id: true }, take: 3_000 });
  const others: Record<string, string[]> = { 'webhook-endpoints': endpointIds, 'refund-batches': batchIds };
  const ids = others[path.split('/')[2] ?? ''] ?? refunds.map(({ id }) => id);
  const values: KnownValues = { ...known, id: fc.constantFrom('ref_unknown', ...ids) };
  const parameters: { in: string; name: string; schema: unknown }[] = operation.parameters ?? [];
  const declared = <T>(place: string, valuesOf: (name: string, schema: unknown) => fc.Arbitrary<T>) => {
    const ofPlace = parameters.filter((parameter) => parameter.in === place);
    return Object.fromEntries(ofPlace.map(({ name, schema }) => [name, valuesOf(name, schema)]));
  };
  const schema = operation.requestBody?.content['application/json'].schema;
  const requests = requestsTo({
    method,
    url: path.replace(/\{(\w+)\}/g, ':$1'),
    known: values,
    credentials,
    query: declared('query', (name, each) => values[name] ?? arbitraryOf(served.resolve(each))),
    headers: declared('header', (name) => wellKnownHeaders[name.toLowerCase()] ?? headerText),
    ...(schema === undefined ? {} : { content: jsonLike(arbitraryOf(served.resolve(schema), values)) }),
  });
  return await storm(exposed, {
    name: operation.operationId,
    async requests() {
      // Earlier requests delete and disable them.
      const restored = { deletedAt: null, status: 'enabled', disabledReason: null } as const;
      await db.webhookEndpoint.updateMany({ data: restored });
      return requests;
    },
    check: checkDeclared(served),
  });
}

/** A worker that started earlier could send every refund before it is cancelled. */
async function startWorkerAfterCancellation(): Promise<void> {
  const { service } = exposed;
  await waitFor('a cancelled refund', () =>
    service.deps.db.refund.findFirst({ where: { status: 'cancelled' } }),
  );
  service.startWorker();
}

const operationsOf = (...ids: string[]) =>
  served.operations.filter(({ operation }) => ids.includes(operation.operationId));

test.each([
  ['createRefund', ['200', '400 validation_error', '502 processor_error']],
  ['cancelRefund', ['200', '400 validation_error', '404 not_found', '409 refund_not_cancellable']],
])('any request to %s gets a documented answer', async (operationId, expected) => {
  const { service } = exposed;
  const [operation] = operationsOf(operationId);
  if (operation === undefined) throw new Error('The document has no such operation.');
  const starting = operationId === 'cancelRefund' ? startWorkerAfterCancellation() : null;
  const struck = strike(operation);
  await Promise.allSettled([struck, starting]);
  const outcomes = await struck;
  await starting;
  expect(Object.keys(outcomes)).toEqual(expect.arrayContaining(expected));
  await expectInvariants(service);
});

/** Whether an operation changes nothing. */
const isReading = ({ method, operation }: Operation) =>
  method === 'get' || operation.operationId === 'checkPolicy';

test('any request to a reading operation gets a documented answer and changes nothing', async () => {
  const { refund } = exposed.service.deps.db;
  await waitFor(
    'the end of earlier refunds',
    async () => (await refund.count({ where: { status: 'processing' } })) === 0,
  );
  const before = await exposed.rowCounts();
  const reading = served.operations.filter(isReading);
  expect(reading.length).toBeGreaterThan(0);
  for (const operation of reading) expect((await strike(operation))['200']).toBeGreaterThan(enough);
  expect({ ...(await exposed.rowCounts()), payment: before.payment }).toEqual(before);
});

test('any request to another operation gets a documented answer', async () => {
  const struck = operationsOf('createRefund', 'cancelRefund');
  for (const operation of served.operations)
    if (!isReading(operation) && !struck.includes(operation)) await strike(operation);
});
