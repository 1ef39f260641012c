import { afterEach, beforeAll, describe, expect, test } from 'vitest';
import type { PublicEvent } from '#shared/events/event.ts';
import { EventFeed } from '#shared/events/feed.ts';
import type { Environment } from '#shared/platform/environment.ts';
import { newId } from '#shared/platform/ids.ts';
import { setPolicies } from '#shared/policies/stored-policies.ts';
import { moveRefund } from '#shared/refunds/changes/move.ts';
import { approveRefund } from '#shared/refunds/decisions/approve.ts';
import { findOwnRefund } from '#shared/refunds/queries/find-refunds.ts';
import { advanceRefund } from '../../support/refunds/advance-refund.ts';
import { newRefund } from '../../support/refunds/new-refund.ts';
import { rowOf, unknownRefundId } from '../../support/refunds/refund-records.ts';
import type { TestOrganization } from '../../support/service.ts';
import { useService } from '../../support/use-service.ts';
import { waitFor } from '../../support/wait-for.ts';

// No worker: refunds are advanced here.
const service = useService({ workers: 0 });
let owner: TestOrganization;
beforeAll(() => {
  owner = service.organization;
});
// The feed of an organization cannot be emptied.
afterEach(async () => {
  owner = await service.addOrganization('Another');
});

const get = async (url: string, { key = owner.keys.test.plaintext, headers = {} } = {}) =>
  await service.call('GET', url, { key, headers });
const read = async (query = '', options = {}) => {
  const { status, body } = await get(`/v1/events${query}`, options);
  expect(status, JSON.stringify(body)).toBe(200);
  return body;
};

/** Creates a refund and answers it as the response has it. */
async function create(options: { key?: string; environment?: Environment; amount?: number } = {}) {
  const { key = owner.keys.test.plaintext, environment = 'test', amount = 1_000 } = options;
  const body = { amount, metadata: { ticket: 'T-1' } };
  return await newRefund(service, body, { key, payment: { environment } });
}

const cancel = async (id: string, key = owner.keys.test.plaintext) =>
  expect((await service.call('POST', `/v1/refunds/${id}/cancel`, { key })).status).toBe(200);

describe('events', () => {
  test('show the refund as it was, also after it has changed again', async () => {
    await service.sandbox.settings({ autoSettleMs: 0 });
    const refund = await create();
    await advanceRefund(service.deps, refund.id);
    const completed = await rowOf(service, refund.id);
    expect(completed.status).toBe('completed');
    const failure = { failureCode: 'returned', failureMessage: 'The bank returned the money.' };
    await service.deps.db.$transaction(async (tx) => {
      const entry = { type: 'refund.failed', actor: 'test' } as const;
      await moveRefund(tx, { refund, from: 'completed', to: 'failed', change: failure, entry });
    });
    const { body } = await get(`/v1/refunds/${refund.id}/events`);
    const { externalRefundId } = completed;
    expect(externalRefundId).toMatch(/^re_/);
    const [createdAt, completedAt, failedAt] = body.data.map((event: PublicEvent) => event.createdAt);
    const sent = { ...refund, externalRefundId };
    expect(body.data).toMatchObject([
      { type: 'refund.created', previousStatus: null, failure: null, data: { refund } },
      {
        ...{ type: 'refund.completed', previousStatus: 'processing', failure: null },
        data: { refund: { ...sent, status: 'completed', updatedAt: completedAt } },
      },
      {
        ...{ type: 'refund.failed', previousStatus: 'completed' },
        failure: { code: 'returned', message: 'The bank returned the money.' },
        data: { refund: { ...sent, status: 'failed', updatedAt: failedAt } },
      },
    ]);
    expect(createdAt).toBe(refund.createdAt);
    // The feed has the same ones.
    expect((await read()).data).toEqual(body.data);
    const { body: now } = await get(`/v1/refunds/${refund.id}`);
    expect(now.data).toEqual(body.data[2].data.refund);
  });

  test('of a refund that awaits approval begin with its creation', async () => {
    const file = { policies: [{ name: 'Ask', priority: 1, approvalAbove: { api: 500 } }] };
    await setPolicies(service.deps, { organizationId: owner.id, file, actor: 'test' });
    const { id, status } = await create();
    expect(status).toBe('pending');
    const where = { organizationId: owner.id, environment: 'test' } as const;
    await approveRefund(service.deps, await findOwnRefund(service.deps.db, where, id), 'user:usr_other');
    const { data } = await read('?limit=3');
    const awaiting = { previousStatus: null, data: { refund: { status: 'pending' } } };
    expect(data).toMatchObject([
      { type: 'refund.created', seq: 1, ...awaiting },
      { type: 'refund.approval_required', seq: 2, ...awaiting },
      {
        ...{ type: 'refund.processing', seq: 3, previousStatus: 'pending' },
        data: { refund: { status: 'processing' } },
      },
    ]);
  });
});

describe('a page of the feed', () => {
  test('continues where the one before ended, also after the last event', async () => {
    expect(await read()).toEqual({ data: [], nextAfter: null, hasMore: false });
    const ids: string[] = [];
    for (let count = 0; count < 3; count += 1) ids.push((await create()).id);
    const first = await read('?limit=2');
    expect([first.data.length, first.nextAfter, first.hasMore]).toEqual([2, first.data[1].id, true]);
    const second = await read(`?limit=2&after=${first.nextAfter}`);
    expect([...first.data, ...second.data].map(({ refundId }) => refundId)).toEqual(ids);
    expect(second.hasMore).toBe(false);
    const third = await read(`?after=${second.nextAfter}`);
    expect(third).toEqual({ data: [], nextAfter: second.nextAfter, hasMore: false });
  });

  test('has only events of the type asked for', async () => {
    const made = [await create(), await create(), await create()];
    const cancelled = made.slice(1).map(({ id }) => id);
    for (const id of cancelled) await cancel(id);
    const first = await read('?type=refund.cancelled&limit=1');
    expect([first.data[0].refundId, first.hasMore]).toEqual([cancelled[0], true]);
    const second = await read(`?type=refund.cancelled&limit=1&after=${first.nextAfter}`);
    expect([second.data[0].refundId, second.hasMore]).toEqual([cancelled[1], false]);
    expect((await read(`?type=refund.cancelled&after=${second.nextAfter}`)).data).toEqual([]);
    const { data } = await read('?type=refund.created');
    expect(data.map(({ refundId }: { refundId: string }) => refundId)).toEqual(made.map(({ id }) => id));
  });

  test('holds the events of one organization and one environment', async () => {
    const mine = await create();
    const live = await create({ key: owner.keys.live.plaintext, environment: 'live' });
    const them = await service.addOrganization('Them');
    const theirs = await create({ key: them.keys.test.plaintext });
    const owned: [string, { id: string }][] = [
      [owner.keys.test.plaintext, mine],
      [owner.keys.live.plaintext, live],
      [them.keys.test.plaintext, theirs],
    ];
    for (const [key, refund] of owned) {
      const { data } = await read('?type=refund.created', { key });
      expect(data.map(({ refundId }: { refundId: string }) => refundId)).toEqual([refund.id]);
      for (const [otherKey] of owned.filter(([other]) => other !== key)) {
        const foreign = await get(`/v1/events?after=${data[0].id}`, { key: otherKey });
        expect([foreign.status, foreign.body]).toEqual([400, unknownCursor]);
        expect((await get(`/v1/refunds/${refund.id}/events`, { key: otherKey })).status).toBe(404);
      }
    }
  });

  test.each([
    ['malformed', async () => 'nothing'],
    ['empty', async () => ''],
    ['the id of a refund', async () => unknownRefundId],
    ['unknown', async () => newId('evt')],
    ['an entry of the internal timeline', internalEntry],
  ])('refuses a cursor that is %s', async (_what, cursorOf) => {
    const { status, body } = await get(`/v1/events?after=${await cursorOf()}`);
    expect([status, body]).toEqual([400, unknownCursor]);
  });
});

describe('a request that waits for events', () => {
  test('is answered by the event that it asked for, and by no other', async () => {
    const closing = new AbortController();
    const feed = new EventFeed(service.deps, closing.signal);
    const me = { organizationId: owner.id, environment: 'test' } as const;
    const them = await service.addOrganization('Them');
    const ask = (type: 'refund.created' | 'refund.cancelled') =>
      feed.read(me, { after: undefined, type, limit: 10 }, 60_000);
    const [created, cancelled] = [ask('refund.created'), ask('refund.cancelled')];
    await waitFor('both to wait', () => feed.waiting === 2);
    const theirs = await create({ key: them.keys.test.plaintext });
    await cancel(theirs.id, them.keys.test.plaintext);
    await create({ key: owner.keys.live.plaintext, environment: 'live' });
    const { id } = await create();
    expect((await created).data.map(({ refundId }) => refundId)).toEqual([id]);
    expect(feed.waiting).toBe(1);
    await cancel(id);
    expect((await cancelled).data.map(({ refundId }) => refundId)).toEqual([id]);
    expect(feed.waiting).toBe(0);
  });
});

const unknownCursor = {
  error: {
    message: 'after: unknown event. Omit it to begin with the first event.',
    code: 'validation_error',
  },
};

async function internalEntry(): Promise<string> {
  const { id } = await create();
  await service.sandbox.fault({ processor: 'stripe', operation: 'refund.create', kind: 'reset' });
  await advanceRefund(service.deps, id);
  const where = { refundId: id, type: 'attempt.unknown' };
  return (await service.deps.db.refundEvent.findFirstOrThrow({ where })).id;
}
