import { afterEach, beforeEach, expect, test } from 'vitest';
import { findAccount } from '#shared/processors/accounts/account.ts';
import { setSentMetadata } from '#shared/processors/accounts/sent-metadata.ts';
import { eraseRefunds } from '#shared/refunds/decisions/erase.ts';
import { stripeClient } from '../../sandbox/clients.ts';
import { auditOf } from '../../support/audit-log.ts';
import { findCanaries, newCanary } from '../../support/http/canaries.ts';
import { advanceRefund } from '../../support/refunds/advance-refund.ts';
import { expectInvariants } from '../../support/refunds/invariants.ts';
import { newRefund } from '../../support/refunds/new-refund.ts';
import { makeDue, rowOf } from '../../support/refunds/refund-records.ts';
import { everyCell } from '../../support/stores/database-content.ts';
import { useService } from '../../support/use-service.ts';
import { waitFor } from '../../support/wait-for.ts';

const hour = 3_600_000;
const service = useService({ workers: 0, settings: { SETTLEMENT_BASE_MS: hour, SETTLEMENT_CAP_MS: hour } });
beforeEach(async () => {
  await service.sandbox.settings({ autoSettleMs: null });
  await choose(['order', 'ticket']);
});
afterEach(() => expectInvariants(service));

const choose = (keys: readonly string[], organizationId = service.organization.id) =>
  setSentMetadata(service.deps, {
    organizationId,
    environment: 'test',
    processor: 'stripe',
    keys,
    actor: 'test',
  });

async function advance(id: string): Promise<void> {
  await service.deps.db.processorAccount.updateMany({ data: { rateLimits: {} } });
  await makeDue(service, id);
  await advanceRefund(service.deps, id);
}

/** What Stripe has beside the name of our refund. */
async function sentWith(id: string): Promise<object> {
  const { externalRefundId, organizationId } = await rowOf(service, id);
  const refund = await stripeClient(service.sandboxUrl).refunds.retrieve(externalRefundId ?? '');
  const { refund_id, refund_organization, ...sent } = refund.metadata ?? {};
  expect([refund_id, refund_organization]).toEqual([id, organizationId]);
  return sent;
}

const refuseOnce = (kind: string) =>
  service.sandbox.fault({ processor: 'stripe', operation: 'refund.create', kind, times: 1 });

test('every attempt sends what the first one sent, whatever changes between them', async () => {
  const { id } = await newRefund(service, { metadata: { order: 'A-1', ticket: 7, other: 'x' } });
  await refuseOnce('rate-limit');
  await advance(id);
  expect(await rowOf(service, id)).toMatchObject({ externalRefundId: null, attemptCount: 1 });
  const body = { metadata: { order: 'B-2', ticket: null } };
  expect((await service.call('PATCH', `/v1/refunds/${id}`, { body })).status).toBe(200);
  await choose(['other']);
  await advance(id);
  expect(await sentWith(id)).toEqual({ order: 'A-1', ticket: '7' });
  const { attemptCount, work } = await rowOf(service, id);
  expect([attemptCount, work?.sentMetadata]).toEqual([2, null]);
});

test('sends texts, numbers and booleans of up to 500 characters, and leaves other values out', async () => {
  await choose(['text', 'long', 'number', 'boolean', 'nested']);
  const text = 'ü'.repeat(500);
  const metadata = { text, long: `${text}x`, number: 1.5, boolean: false, nested: { a: 1 } };
  const { id } = await newRefund(service, { metadata });
  await advance(id);
  expect(await sentWith(id)).toEqual({ text, number: '1.5', boolean: 'false' });
  await choose(['none', 'empty', 'list', 'nothing']);
  const { id: bare } = await newRefund(service, { metadata: { empty: '', list: ['a'], nothing: null } });
  await advance(bare);
  expect(await sentWith(bare)).toEqual({});
});

test('the setting of another organization has no effect', async () => {
  const other = await service.addOrganization('Other');
  const metadata = { order: 'A-1' };
  const { id } = await newRefund(service, { metadata }, { key: other.keys.test.plaintext });
  await advance(id);
  expect(await sentWith(id)).toEqual({});
});

test('an attempt of unknown outcome is found in spite of further metadata', async () => {
  const { id } = await newRefund(service, { metadata: { order: 'A-1' } });
  await refuseOnce('reset-after-apply');
  await advance(id);
  expect((await rowOf(service, id)).externalRefundId).toBeNull();
  await advance(id);
  expect(await sentWith(id)).toEqual({ order: 'A-1' });
});

test('an erasure waits until the processor has what is to be sent again, and leaves nothing of it', async () => {
  const canary = newCanary('a customer');
  const create = () => newRefund(service, { metadata: { order: canary.text } });
  const [attempted, unsent] = [await create(), await create()];
  await refuseOnce('rate-limit');
  await advance(attempted.id);
  const refundIds = [attempted.id, unsent.id];
  const { db, clock } = { db: service.ownerDb, clock: service.deps.clock };
  const request = { organizationId: service.organization.id, refundIds, actor: 'test' };
  const erased = eraseRefunds({ db, clock }, request);
  await waitFor(
    'the other refund to be erased',
    async () => (await rowOf(service, unsent.id)).metadata === null,
  );
  expect((await rowOf(service, attempted.id)).metadata).not.toBeNull();
  await advance(attempted.id);
  await advance(unsent.id);
  await erased;
  expect([await sentWith(attempted.id), await sentWith(unsent.id)]).toEqual([{ order: canary.text }, {}]);
  const cells = await everyCell(service.databaseUrl);
  expect(cells.flatMap(({ column, text }) => findCanaries([canary], column, text))).toEqual([]);
});

test.each([
  ['six keys', ['a', 'b', 'c', 'd', 'e', 'f'], 'stripe', /^keys: must be at most 5/],
  ['our own key', ['request_digest'], 'stripe', /^keys: must not include request_digest/],
  ['a bracket', ['a[b]'], 'stripe', /^keys: must have 1 to 40 characters/],
  ['a long key', ['x'.repeat(41)], 'stripe', /^keys: must have 1 to 40 characters/],
  ['a processor that keeps no metadata', ['a'], 'braintree', /^processor: Braintree keeps no metadata/],
])('refuses %s and keeps the setting', async (_what, keys, processor, message) => {
  const account = { organizationId: service.organization.id, environment: 'test', processor } as const;
  const stored = () => findAccount(service.deps.db, account);
  const before = await stored();
  await expect(setSentMetadata(service.deps, { ...account, keys, actor: 'test' })).rejects.toThrow(message);
  expect(await stored()).toEqual(before);
});

test('a change of the keys is in the audit log', async () => {
  await choose([]);
  const where = {
    organizationId: service.organization.id,
    environment: 'test',
    processor: 'stripe',
  } as const;
  const { id } = await service.deps.db.processorAccount.findFirstOrThrow({ where });
  expect((await auditOf(service, id)).at(-1)).toMatchObject({
    action: 'account.sent_metadata_set',
    detail: { from: ['order', 'ticket'], to: [] },
  });
});
