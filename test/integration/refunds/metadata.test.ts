import { afterEach, beforeAll, describe, expect, test } from 'vitest';
import { addNote, changeMetadata, maxAnnotatedEntries } from '#shared/refunds/decisions/annotate.ts';
import { findErasable } from '#shared/refunds/decisions/erase.ts';
import { type TimelineProblem, verifyTimelines } from '#shared/timeline/verify.ts';
import { newCanary } from '../../support/http/canaries.ts';
import { ownerCliOf } from '../../support/processes/admin-cli.ts';
import { expectInvariants } from '../../support/refunds/invariants.ts';
import { lengthenTimeline } from '../../support/refunds/long-timeline.ts';
import { newRefund } from '../../support/refunds/new-refund.ts';
import { rowOf, untilStatus } from '../../support/refunds/refund-records.ts';
import { agentKey } from '../../support/refunds/refund-requests.ts';
import { everyCell } from '../../support/stores/database-content.ts';
import { useService } from '../../support/use-service.ts';

// PATCH /v1/refunds/:id

const service = useService();
beforeAll(() => service.sandbox.settings({ autoSettleMs: 0 }));
afterEach(() => expectInvariants(service));

async function completed(metadata?: object): Promise<string> {
  const { id } = await newRefund(service, { metadata });
  await untilStatus(service, id, 'completed');
  return id;
}

const patch = async (id: string, metadata: unknown, options: { key?: string } = {}) =>
  await service.call('PATCH', `/v1/refunds/${id}`, { body: { metadata }, ...options });
const lastEvent = async (refundId: string) =>
  await service.deps.db.refundEvent.findFirstOrThrow({ where: { refundId }, orderBy: { seq: 'desc' } });

test('merges keys, removes those with null, and notes who changed which keys', async () => {
  const id = await completed({ order: 1, ticket: { id: 'T-1', open: true }, note: 'x' });
  const before = await rowOf(service, id);
  const { status, body } = await patch(id, { ticket: { id: 'T-2' }, note: null, missing: null, paid: false });
  expect([status, body.data.metadata]).toEqual([200, { order: 1, ticket: { id: 'T-2' }, paid: false }]);
  expect(body.data.status).toBe('completed');
  expect(Date.parse(body.data.updatedAt)).toBeGreaterThan(before.updatedAt.getTime());
  const event = await lastEvent(id);
  expect(event).toMatchObject({ type: 'metadata.changed', status: 'completed', position: null });
  expect([event.actor, event.detail]).toEqual([
    `key:${service.organization.keys.test.id}`,
    { message: 'note (removed), ticket, paid' },
  ]);
  expect((await service.call('GET', '/v1/refunds?metadata[paid]=false')).body.data).toMatchObject([{ id }]);
  expect((await patch(id, { order: null, ticket: null, paid: null })).body.data.metadata).toBeNull();
  expect((await patch(id, { again: [1] })).body.data.metadata).toEqual({ again: [1] });
});

test('writes nothing when nothing changes', async () => {
  const id = await completed({ order: { b: 1, a: 2 } });
  const before = await service.deps.db.refund.findUniqueOrThrow({ where: { id }, include: { events: true } });
  expect((await patch(id, { order: { a: 2, b: 1 }, other: null })).status).toBe(200);
  const after = await service.deps.db.refund.findUniqueOrThrow({ where: { id }, include: { events: true } });
  expect(after).toEqual(before);
});

test.each<[string, Record<string, unknown>, RegExp]>([
  ['too many keys', { more: 1 }, /^metadata: must have at most 50 keys$/],
  ['too many bytes', { key0: 'x'.repeat(17_000) }, /^metadata: must have at most 16384 bytes as JSON$/],
  ['text that cannot be stored', { key0: '\u0000' }, /^metadata: must not contain a NUL character/],
  ['a long key', { key0: null, ['x'.repeat(41)]: 1 }, /^metadata: keys must have 1 to 40 characters$/],
])('refuses a result with %s and changes nothing', async (_what, metadata, message) => {
  const full = Object.fromEntries(Array.from({ length: 50 }, (_, number) => [`key${number}`, number]));
  const id = await completed(full);
  const { status, body } = await patch(id, metadata);
  expect([status, body.error.message]).toEqual([400, expect.stringMatching(message)]);
  expect((await rowOf(service, id)).metadata).toEqual(full);
  // What replaces a key is not too many.
  expect((await patch(id, { key0: null, more: 1 })).status).toBe(200);
});

test('keeps every one of many changes at once, also while a worker writes to the timeline', async () => {
  await service.sandbox.settings({ autoSettleMs: 50 });
  const { id } = await newRefund(service);
  const keys = Array.from({ length: 10 }, (_, number) => `key${number}`);
  const answers = await Promise.all(keys.map((key) => patch(id, { [key]: key })));
  expect(answers.map(({ status }) => status)).toEqual(keys.map(() => 200));
  await untilStatus(service, id, 'completed');
  expect((await rowOf(service, id)).metadata).toEqual(Object.fromEntries(keys.map((key) => [key, key])));
  await service.sandbox.settings({ autoSettleMs: 0 });
});

test('a full timeline takes no further change and no note', async () => {
  const id = await completed();
  await lengthenTimeline(service, id, maxAnnotatedEntries - 1);
  expect((await patch(id, { order: 1 })).status).toBe(200);
  // A repeated request changes nothing.
  expect((await patch(id, { order: 1 })).status).toBe(200);
  const { status, body } = await patch(id, { order: 2 });
  expect([status, body.error.message]).toEqual([400, expect.stringContaining('has 1000 entries')]);
  const note = addNote(service.deps, { id }, 'user:usr_1', 'Called.');
  await expect(note).rejects.toThrow(/^note: cannot be added, because the timeline/);
  expect((await lastEvent(id)).seq).toBe(maxAnnotatedEntries);
});

test('an agent key changes only refunds that it requested', async () => {
  const { plaintext: key } = await agentKey(service, {});
  const { id } = await newRefund(service, {}, { key });
  expect((await patch(id, { a: 1 }, { key })).status).toBe(200);
  const refused = await patch(await completed(), { a: 1 }, { key });
  expect([refused.status, refused.body.error.code]).toEqual([403, 'insufficient_scope']);
});

describe('an erasure', () => {
  const customer = newCanary('a customer');
  const places = async () =>
    (await everyCell(service.databaseUrl)).filter(({ text }) => text.includes(customer.text)).length;

  test('leaves nothing of metadata that was changed, keeps the proof of the timeline, and is not undone by a change', async () => {
    const id = await completed({ before: customer.text });
    // The name of a key can be personal as well.
    await patch(id, { [customer.text]: 1, before: null, after: customer.text });
    expect(await places()).toBeGreaterThan(1);
    const owner = { organizationId: service.organization.id, environment: 'test' } as const;
    expect(await findErasable(service.deps.db, owner, { metadata: { after: customer.text } })).toEqual([id]);
    expect((await ownerCliOf(service)(['refund', 'erase', id])).code).toBe(0);
    expect(await places()).toBe(0);
    const problems: TimelineProblem[] = [];
    const everything = { organizationId: null, since: null };
    await verifyTimelines(service.deps.db, everything, (problem) => problems.push(problem));
    expect(problems).toEqual([]);
    const { status, body } = await patch(id, { after: customer.text });
    expect([status, body.error.message]).toEqual([400, expect.stringContaining('was erased')]);
    expect((await rowOf(service, id)).metadata).toBeNull();
  });

  test('that is under way is waited for', async () => {
    const id = await completed({ before: customer.text });
    let changed: Promise<string> | undefined;
    await service.ownerDb.$transaction(async (tx) => {
      await tx.$queryRaw`SELECT FROM refund WHERE id = ${id} FOR NO KEY UPDATE`;
      changed = changeMetadata(service.deps, { id }, { after: 1 }, 'cli:ada').then(
        () => 'changed',
        (error: Error) => error.message,
      );
      const entry = { organizationId: service.organization.id, actor: 'cli:ada', target: id, detail: {} };
      await tx.auditLog.create({
        data: { ...entry, id: 'aud_metadata', action: 'refund.erased', createdAt: new Date() },
      });
      await tx.refund.update({ where: { id }, data: { metadata: {} } });
    });
    expect(await changed).toContain('was erased');
  });
});
