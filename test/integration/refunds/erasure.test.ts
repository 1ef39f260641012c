import { beforeAll, expect, test } from 'vitest';
import { beginErasure } from '#shared/audit/erasure.ts';
import type { Refund } from '#shared/platform/database.ts';
import { newId, newRequestId } from '#shared/platform/ids.ts';
import { setPolicies } from '#shared/policies/stored-policies.ts';
import { rejectRefund } from '#shared/refunds/decisions/approve.ts';
import { findErasable } from '#shared/refunds/decisions/erase.ts';
import { auditedExport } from '#shared/refunds/queries/export-refunds.ts';
import { findOwnRefund } from '#shared/refunds/queries/find-refunds.ts';
import { auditOf } from '../../support/audit-log.ts';
import { findCanaries, newCanary } from '../../support/http/canaries.ts';
import { parseCsv, wholeText } from '../../support/http/csv.ts';
import { adminCliOf, onlyLine, ownerCliOf } from '../../support/processes/admin-cli.ts';
import { expectInvariants } from '../../support/refunds/invariants.ts';
import { newRefund } from '../../support/refunds/new-refund.ts';
import { newPayment } from '../../support/refunds/payments.ts';
import { untilStatus } from '../../support/refunds/refund-records.ts';
import { everyCell } from '../../support/stores/database-content.ts';
import { useService } from '../../support/use-service.ts';
import { waitFor } from '../../support/wait-for.ts';
import { useRegisteredReceivers } from '../../support/webhooks/registered-receivers.ts';

const service = useService();
const newReceiver = useRegisteredReceivers(service);
const admin = ownerCliOf(service);
const customer = newCanary('a customer');
const owner = () => ({ organizationId: service.organization.id, environment: 'test' }) as const;

beforeAll(async () => {
  await service.sandbox.settings({ autoSettleMs: 0 });
  const rules = { priority: 1, approvalAbove: { api: 5_000, dashboard: 5_000, mcp: 5_000 } };
  const file = { policies: [{ name: 'Ask', ...rules }] };
  await setPolicies(service.deps, { organizationId: service.organization.id, file, actor: 'test' });
});

const matching = (...more: string[]) => {
  const { id } = service.organization;
  return admin(['refund', 'erase-matching', '--organization', id, '--environment', 'test', ...more]);
};

interface Asked {
  amount: number;
  metadata?: object;
  key?: string;
}

async function create({ amount, metadata, key }: Asked): Promise<{ id: string; request: object }> {
  const body = { transactionId: await newPayment(service), amount, reason: 'other', metadata };
  const request = { body, ...(key === undefined ? {} : { headers: { 'idempotency-key': key } }) };
  const { status, body: answer } = await service.call('POST', '/v1/refunds', request);
  expect(status, JSON.stringify(answer)).toBe(200);
  return { id: answer.data.id, request };
}

/** Where the customer is found, as `table.column`. */
async function found(): Promise<string[]> {
  const cells = await everyCell(service.databaseUrl);
  const places = cells.flatMap(({ column, text }) => findCanaries([customer], column, text));
  return [...new Set(places.map(({ place }) => place))].sort();
}

const exported = async () => parseCsv(await wholeText(auditedExport(service.deps, exportOf({}))));
const exportOf = (filter: object) => ({ owner: owner(), filter, actor: 'user:usr_ada' });

/** Amounts, statuses and timelines: what must not change. */
async function books() {
  const { db } = service.deps;
  const without = { metadata: null, failureMessage: null };
  const events = await db.refundEvent.findMany({ orderBy: [{ refundId: 'asc' }, { seq: 'asc' }] });
  return {
    refunds: (await db.refund.findMany({ orderBy: { id: 'asc' } })).map((row) => ({ ...row, ...without })),
    payments: await db.payment.findMany({ orderBy: { id: 'asc' }, include: { names: true } }),
    events: events.map((event) => ({
      ...event,
      detail: Object.keys(event.detail ?? {}),
      failureMessage: null,
      // It is erased with the words, so that no one can try words on their digest.
      wordsSalt: null,
    })),
  };
}

/** A completed refund whose webhook receiver repeated it, and everything else that can hold words about the customer. */
async function storeEverywhere(): Promise<{ paid: Awaited<ReturnType<typeof create>>; rejected: string }> {
  const { db, clock } = service.deps;
  const echo = await newReceiver((response, { body }) => response.writeHead(200).end(body));
  const metadata = { customer: customer.text, note: { address: [customer.text] } };
  const paid = await create({ amount: 500, metadata, key: 'order-7' });
  await untilStatus(service, paid.id, 'completed');
  await waitFor(
    'the receiver to have answered',
    async () =>
      (await echo.deliveries()).every(({ status }) => status === 'succeeded') &&
      (await echo.deliveries()).length === 2,
  );

  const { id: rejected } = await create({ amount: 6_000, metadata: { customer: customer.text } });
  const pending: Refund = await findOwnRefund(db, owner(), rejected);
  await rejectRefund(service.deps, pending, 'user:usr_ada', `${customer.text} wants an exchange`);

  const { transactionId, paymentId } = await db.refund.findUniqueOrThrow({ where: { id: paid.id } });
  const account = await db.processorAccount.findFirstOrThrow({ where: { ...owner(), processor: 'stripe' } });
  const times = { windowStart: clock.now(), windowEnd: clock.now(), startedAt: clock.now() };
  const run = await db.reconciliationRun.create({
    data: { id: newId('rec'), accountId: account.id, actor: 'worker', finishedAt: clock.now(), ...times },
  });
  const facts = { status: 'completed', message: `No refund of ${customer.text}` };
  const finding = { kind: 'missing_there', action: 'flagged', refundId: paid.id, transactionId };
  await db.reconciliationFinding.create({ data: { id: newId('fin'), runId: run.id, ...finding, facts } });
  const work = {
    refundId: paid.id,
    ...owner(),
    accountId: account.id,
    processor: 'stripe',
    flaggedAt: clock.now(),
  };
  await db.refundWork.create({ data: { ...work, flagReason: 'missing_there', flagFacts: facts } });
  // As if the processor had said it.
  await service.ownerDb.$transaction(async (tx) => {
    await beginErasure(tx);
    const detail = { code: 'declined', message: customer.text, flag: { reason: 'missing_there', facts } };
    await tx.refundEvent.update({
      where: { refundId_seq: { refundId: paid.id, seq: 2 } },
      data: { detail, failureMessage: customer.text },
    });
  });
  await db.refund.update({
    where: { id: paid.id },
    data: { failureCode: 'x', failureMessage: customer.text },
  });
  const request = { ...owner(), apiKeyId: 'key_1', operation: 'POST /v1/refunds', path: '/v1/refunds' };
  const refusal = { status: 400, code: 'validation_error', message: '', createdAt: clock.now() };
  const name = 'in_order_7';
  await db.paymentName.create({ data: { ...owner(), accountId: account.id, paymentId, name } });
  for (const named of [transactionId, name]) {
    const body = JSON.stringify({ transactionId: named, metadata });
    await db.failedRequest.create({ data: { ...request, ...refusal, id: newRequestId(), body } });
  }
  await wholeText(auditedExport(service.deps, exportOf({ metadata: { customer: customer.text } })));
  await wholeText(auditedExport(service.deps, exportOf({ q: customer.text })));
  return { paid, rejected };
}

test('erasing by metadata leaves nothing of a customer, and all books and timelines', async () => {
  const { paid, rejected } = await storeEverywhere();
  const { id: other } = await create({ amount: 300, metadata: { customer: 'someone else' } });
  await untilStatus(service, other, 'completed');
  expect(await found()).toEqual([
    'public.audit_log.detail',
    'public.failed_request.body',
    'public.reconciliation_finding.facts',
    'public.refund.failure_message',
    'public.refund.metadata',
    'public.refund_event.detail',
    'public.refund_event.failure_message',
    'public.refund_work.flag_facts',
    'public.webhook_delivery.attempts',
  ]);
  const before = await books();
  const filter = ['--metadata', `customer=${customer.text}`];
  const listed = await matching(...filter);
  expect(listed.stdout.trim().split('\n').sort()).toEqual([paid.id, rejected].sort());
  expect(listed.stderr).toContain('Nothing was erased');
  expect(await found()).not.toEqual([]);

  const erased = await matching(...filter, '--confirm');
  expect(erased.code, erased.stderr).toBe(0);
  expect(erased.stderr).toContain('of 2 refunds');
  expect(await found()).toEqual([]);
  expect(await books()).toEqual(before);
  await service.deps.db.refundWork.deleteMany({ where: { refundId: paid.id } });
  await expectInvariants(service);
  for (const id of [paid.id, rejected]) {
    const entry = (await auditOf(service, id)).at(-1);
    expect(entry).toMatchObject({ action: 'refund.erased', actor: expect.stringMatching(/^cli:./) });
    expect(entry?.detail).toEqual({ environment: 'test' });
  }

  const replayed = await service.call('POST', '/v1/refunds', paid.request);
  expect(replayed.headers['idempotent-replayed']).toBe('true');
  expect(replayed.body.data).toMatchObject({ id: paid.id, metadata: null, amount: 500, status: 'completed' });
  const search = `/v1/refunds?${new URLSearchParams({ 'metadata[customer]': customer.text })}`;
  expect((await service.call('GET', search)).body.data).toEqual([]);
  const { data: feed } = (await service.call('GET', '/v1/events?limit=100')).body;
  expect(feed.length).toBe(before.events.filter(({ position }) => position !== null).length);
  expect(JSON.stringify(feed)).not.toContain(customer.text);
  const [names = [], ...rows] = await exported();
  expect(rows.map((row) => [row[names.indexOf('id')], row[names.indexOf('metadata')]]).sort()).toEqual(
    [
      [paid.id, ''],
      [rejected, ''],
      [other, '{"customer":"someone else"}'],
    ].sort(),
  );
});

test('erasing by time spares later refunds, and is done once', async () => {
  const { id } = await create({ amount: 400, metadata: { customer: customer.text } });
  await untilStatus(service, id, 'completed');
  const { createdAt } = await service.deps.db.refund.findUniqueOrThrow({ where: { id } });
  expect((await matching('--created-before', createdAt.toISOString())).stdout).not.toContain(id);
  const later = ['--created-before', new Date(createdAt.getTime() + 1).toISOString()];
  expect((await matching(...later, '--confirm')).stdout).toContain(id);
  expect((await matching(...later)).stdout).toBe('');
  expect(await found()).toEqual([]);
});

/** Stores words about a refund in one place alone. */
const words: Record<string, (refundId: string) => Promise<unknown>> = {
  flag: async (refundId) => {
    const accountId = service.organization.accounts.test.stripe;
    const work = { refundId, ...owner(), accountId, processor: 'stripe', flaggedAt: new Date() };
    const flagFacts = { message: customer.text };
    return await service.deps.db.refundWork.create({
      data: { ...work, flagReason: 'missing_there', flagFacts },
    });
  },
  'timeline entry': async (refundId) =>
    await service.ownerDb.$transaction(async (tx) => {
      await beginErasure(tx);
      const detail = { flag: { reason: 'missing_there', facts: { message: customer.text } } };
      await tx.refundEvent.update({ where: { refundId_seq: { refundId, seq: 1 } }, data: { detail } });
    }),
  'audit entry': async (refundId) => {
    const entry = { organizationId: service.organization.id, actor: 'user:usr_ada', target: refundId };
    const detail = { reason: customer.text };
    return await service.deps.db.auditLog.create({
      data: { ...entry, id: newId('aud'), action: 'refund.resolved', detail, createdAt: new Date() },
    });
  },
  'response of a webhook endpoint': async (refundId) => {
    const { db } = service.deps;
    const { id: eventId } = await db.refundEvent.findFirstOrThrow({ where: { refundId, seq: 1 } });
    const { endpoint } = await newReceiver();
    await db.webhookEndpoint.update({ where: { id: endpoint.id }, data: { status: 'disabled' } });
    const delivery = {
      id: newId('del'),
      endpointId: endpoint.id,
      eventId,
      refundId,
      type: 'refund.created',
      createdAt: new Date(),
    };
    const attempt = { number: 1, startedAt: new Date().toISOString(), responseBody: customer.text };
    return await db.webhookDelivery.create({
      data: { ...delivery, status: 'succeeded', attempts: [attempt] },
    });
  },
};

test.each(Object.keys(words))(
  'finds a refund of which only a %s has words, also after an earlier erasure',
  async (where) => {
    const { db } = service.deps;
    const { id } = await create({ amount: 6_000, metadata: { customer: customer.text } });
    await admin(['refund', 'erase', id]);
    expect(await findErasable(db, owner(), {})).toEqual([]);
    await words[where]?.(id);
    expect(await findErasable(db, owner(), {})).toEqual([id]);
    await admin(['refund', 'erase', id]);
    expect(await found()).toEqual([]);
    expect(await findErasable(db, owner(), {})).toEqual([]);
    await db.refundWork.deleteMany({ where: { refundId: id } });
  },
);

test('is refused to the role of the service, which changes nothing', async () => {
  const metadata = { customer: customer.text };
  const { id } = await create({ amount: 400, metadata });
  const refused = await adminCliOf(service)(['refund', 'erase', id]);
  expect(refused.code).toBe(1);
  expect(onlyLine(refused.stderr)).toContain('the owner');
  const { db } = service.deps;
  expect((await db.refund.findUniqueOrThrow({ where: { id } })).metadata).toEqual(metadata);
  for (const table of ['audit_log', 'refund_event']) {
    const rewritten = db.$transaction(async (tx) => {
      await beginErasure(tx);
      await tx.$executeRawUnsafe(`UPDATE ${table} SET actor = 'someone else'`);
    });
    await expect(rewritten).rejects.toThrow('permission denied');
  }
  await admin(['refund', 'erase', id]);
});

test('erases a refund by its id, and asks for a filter or a known id', async () => {
  const { id } = await create({ amount: 400, metadata: { customer: customer.text } });
  expect(await admin(['refund', 'erase', id])).toMatchObject({ code: 0 });
  expect(await found()).toEqual([]);
  expect(onlyLine((await admin(['refund', 'erase', 'ref_unknown'])).stderr)).toBe(
    'Refund not found: ref_unknown',
  );
  expect(onlyLine((await matching('--confirm')).stderr)).toBe('Give --metadata, --created-before or both.');
  expect((await matching('--metadata', 'customer')).code).toBe(2);
});

test("keeps refunds of another organization with the same customer and payment's id", async () => {
  const elsewhere = await service.addOrganization('Elsewhere');
  const body = { transactionId: await newPayment(service), metadata: { customer: customer.text } };
  const { id } = await newRefund(service, body);
  const theirs = await newRefund(service, body, { key: elsewhere.keys.test.plaintext });
  await matching('--metadata', `customer=${customer.text}`, '--confirm');
  const { db } = service.deps;
  expect((await db.refund.findUniqueOrThrow({ where: { id } })).metadata).toBeNull();
  expect((await db.refund.findUniqueOrThrow({ where: { id: theirs.id } })).metadata).toEqual(body.metadata);
  expect(await auditOf(service, theirs.id)).toEqual([]);
});
