import fc from 'fast-check';
import { apiKeyScopes, createApiKey } from '#shared/organizations/api-keys.ts';
import { type ExposedService, useExposedService } from '../http/exposed-service.ts';
import { readDocument, type ServedDocument } from '../http/openapi-document.ts';
import { madeBeforeTests } from '../made-before-tests.ts';
import { newPayment } from '../refunds/payments.ts';
import { unknownRefundId } from '../refunds/refund-records.ts';
import type { TestService } from '../service.ts';
import { newEndpoint, storeDelivery } from '../webhooks/api-endpoints.ts';
import { checkDeclared, isAccepted } from './answers.ts';
import { type StormReport, type StormTarget, storm } from './storm.ts';
import { requestsTo, type StormSources } from './storm-requests.ts';

export interface Storm {
  exposed: ExposedService;
  served: ServedDocument;
  /** For requests to routes outside of the document. */
  sources: StormSources;
  /** Sends the requests to one operation of the document. */
  strike(operationId: string): Promise<StormReport>;
  /** Sends requests to any route. Fails when they added more rows to a table than there were accepted requests. */
  strikeAt(target: StormTarget): Promise<StormReport>;
  close(): Promise<void>;
}

/** Gives a test file the service behind a socket, payments to refund and refunds to ask for. */
export function useStorm(): Storm {
  const exposed = useExposedService({
    CANCEL_WAIT_MS: 100,
    MAX_WAIT_MS: 100,
    // Slower than a machine that is busy with the storm, so that nothing is answered "try later".
    TRANSACTION_READ_TIMEOUT_MS: 15_000,
    PROCESSOR_TIMEOUT_MS: 15_000,
  });
  return madeBeforeTests(
    'The storm',
    () => prepare(exposed),
    (made) => made.close(),
  );
}

async function prepare(exposed: ExposedService): Promise<Storm> {
  const { service, port } = exposed;
  const served = await readDocument(service);
  const others = await service.addOrganization('Somebody else');
  // Few of them, so that refunds of one payment meet each other.
  const payments = await Promise.all([
    ...Array.from({ length: 60 }, () => newPayment(service)),
    ...Array.from({ length: 20 }, () => newPayment(service, { processor: 'braintree' })),
  ]);
  const refundIds = [unknownRefundId];
  const { id: organizationId } = service.organization;
  const allowed = { organizationId, environment: 'test', actor: 'test', scopes: apiKeyScopes } as const;
  const keys = [await createApiKey(service.deps, allowed), others.keys.test].map(
    ({ plaintext }) => plaintext,
  );
  for (const [index, key] of keys.entries()) {
    for (const transactionId of payments.slice(index * 10, index * 10 + 10)) {
      const body = { transactionId, amount: 1, reason: 'other' };
      refundIds.push((await service.call('POST', '/v1/refunds', { key, body })).body.data.id);
    }
  }
  const endpoints = await Promise.all([1, 2, 3, 4].map(() => newEndpoint(service)));
  const deliveryIds = await Promise.all(
    endpoints.map(async ({ id }) => (await storeDelivery(service, id, { type: 'refund.created' })).id),
  );
  const knownRefundIds = async () => {
    const rows = await service.deps.db.refund.findMany({ select: { id: true }, take: 3_000 });
    return [...refundIds, ...rows.map(({ id }) => id)];
  };
  const strange = fc.constantFrom(
    'ch_missing',
    'ch_storm',
    'ch_declined1',
    'ch_NoSuch',
    'storm1',
    'x'.repeat(255),
  );
  const sources: StormSources = {
    served,
    key: keys[0] ?? '',
    otherKeys: [...keys, service.organization.keys.live.plaintext],
    known: {},
  };
  const check = checkDeclared(served);
  const strikeAt = async (target: StormTarget) => {
    const before = await countMade(service);
    const report = await storm(port, target);
    const accepted = Object.entries(report.outcomes)
      .filter(([outcome]) => isAccepted(outcome))
      .reduce((sum, [, count]) => sum + count, 0);
    for (const [table, count] of Object.entries(await countMade(service))) {
      const made = count - (before[table] ?? 0);
      if (made <= accepted) continue;
      throw new Error(
        `${target.name}: ${accepted} requests were accepted, but ${made} rows were added to ${table}.`,
      );
    }
    return report;
  };
  const strike = async (operationId: string) => {
    const operation = served.operations.find((one) => one.operation.operationId === operationId);
    if (operation === undefined) throw new Error(`The document has no operation ${operationId}.`);
    const known = {
      id: operation.path.includes('/webhook-endpoints')
        ? fc.constantFrom(...endpoints.map(({ id }) => id))
        : fc.constantFrom(...(await knownRefundIds())),
      deliveryId: fc.constantFrom(...deliveryIds),
      url: fc.constantFrom('http://127.0.0.1:9/hooks', 'https://127.0.0.1:9/?a=b', 'http://a:b@127.0.0.1/'),
      transactionId: fc.oneof(
        { arbitrary: fc.constantFrom(...payments), weight: 9 },
        { arbitrary: strange, weight: 1 },
      ),
      currency: fc.constantFrom('usd', 'usd', 'usd', 'usd', 'usd', 'USD', 'eur', 'jpy'),
      processor: fc.constantFrom('stripe', 'stripe', 'braintree', 'paypal'),
    };
    const requests = requestsTo(operation, { ...sources, known });
    /** Endpoints that earlier requests deleted or disabled are there again. */
    const restored = async () => {
      const data = { deletedAt: null, status: 'enabled', disabledReason: null } as const;
      await service.deps.db.webhookEndpoint.updateMany({ data });
      return requests;
    };
    return await strikeAt({ name: operationId, requests: restored, check });
  };
  return {
    exposed,
    served,
    sources,
    strike,
    strikeAt,
    close: async () => exposed.service.app.server.closeAllConnections(),
  };
}

/** The number of rows that only an accepted request may add to, by table. */
async function countMade({ deps: { db } }: TestService): Promise<Record<string, number>> {
  const counts = {
    organization: db.organization.count(),
    user: db.user.count(),
    membership: db.membership.count(),
    invitation: db.invitation.count(),
    apiKey: db.apiKey.count(),
    processorAccount: db.processorAccount.count(),
    policy: db.policy.count(),
    webhookEndpoint: db.webhookEndpoint.count(),
    processorEvent: db.processorEvent.count(),
    refund: db.refund.count(),
  };
  const entries = Object.entries(counts).map(async ([table, count]) => [table, await count] as const);
  return Object.fromEntries(await Promise.all(entries));
}
