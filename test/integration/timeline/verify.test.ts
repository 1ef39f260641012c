import { beforeAll, describe, expect, test } from 'vitest';
import type { Database } from '#shared/platform/database.ts';
import { setPolicies } from '#shared/policies/stored-policies.ts';
import { rejectRefund } from '#shared/refunds/decisions/approve.ts';
import { findOwnRefund } from '#shared/refunds/queries/find-refunds.ts';
import { publishRoots } from '#shared/timeline/publish-roots.ts';
import { type TimelineProblem, type Verification, verifyTimelines } from '#shared/timeline/verify.ts';
import { HeldTime } from '../../support/clocks.ts';
import { adminCliOf, ownerCliOf } from '../../support/processes/admin-cli.ts';
import { newRefund } from '../../support/refunds/new-refund.ts';
import { untilStatus } from '../../support/refunds/refund-records.ts';
import { useService } from '../../support/use-service.ts';

const service = useService();
const time = new HeldTime();
const admin = adminCliOf(service);
const everything = { organizationId: null, since: null };
const publish = () => publishRoots(service.deps, new AbortController().signal);

/** A completed refund, with two events, and one that a person rejected with words, with three. */
const ids = { paid: '', rejected: '' };

const create = async (amount: number): Promise<string> => (await newRefund(service, { amount })).id;

beforeAll(async () => {
  const { deps, organization } = service;
  await service.sandbox.settings({ autoSettleMs: 0 });
  const rules = { priority: 1, approvalAbove: { api: 5_000 } };
  const file = { policies: [{ name: 'Ask', ...rules }] };
  await setPolicies(deps, { organizationId: organization.id, file, actor: 'test' });
  // Many at once, so that workers share statements.
  const made = await Promise.all(Array.from({ length: 12 }, () => create(500)));
  for (const id of made) await untilStatus(service, id, 'completed');
  ids.paid = made[7] ?? '';
  ids.rejected = await create(6_000);
  const owner = { organizationId: organization.id, environment: 'test' } as const;
  await rejectRefund(deps, await findOwnRefund(deps.db, owner, ids.rejected), 'user:usr_ada', 'Ada kept it');
  await time.advance(service.ownerDb, 2 * 86_400_000);
  // Several workers may do so at once.
  await Promise.all([publish(), publish(), publish()]);
});

async function verified(db: Database): Promise<Verification & { found: TimelineProblem[] }> {
  const found: TimelineProblem[] = [];
  return { ...(await verifyTimelines(db, everything, (problem) => found.push(problem))), found };
}

/** What is found after statements of the database's owner, which are taken back then. */
async function foundAfter(...statements: string[]): Promise<string[]> {
  let found: TimelineProblem[] = [];
  const undo = new Error('undo');
  const change = service.ownerDb.$transaction(async (tx) => {
    await tx.$executeRawUnsafe('ALTER TABLE refund_event DISABLE TRIGGER refund_event_append_only');
    await tx.$executeRawUnsafe('ALTER TABLE timeline_root DISABLE TRIGGER timeline_root_append_only');
    for (const statement of statements) {
      expect(await tx.$executeRawUnsafe(statement), statement).not.toBe(0);
    }
    ({ found } = await verified(tx as Database));
    throw undo;
  });
  await expect(change).rejects.toBe(undo);
  const names = Object.entries(ids);
  return found.map(({ refundId, seq, problem }) => {
    const [name = refundId] = names.find(([, id]) => id === refundId) ?? [];
    return refundId === null ? `day: ${problem.split(/[:,]| \d/)[0]}` : `${name} ${seq}: ${problem}`;
  });
}

test('finds nothing where nothing was changed, with many workers', async () => {
  const { found, events, lastRoots } = await verified(service.deps.db);
  expect(found).toEqual([]);
  expect(events).toBe(await service.deps.db.refundEvent.count());
  expect(lastRoots).toMatchObject([{ organizationId: service.organization.id, environment: 'test' }]);
});

const paid = (seq: number) => `refund_id = '$paid' AND seq = ${seq}`;
const set = (column: string, where: string) => `UPDATE refund_event SET ${column} WHERE ${where}`;
const named = (statement: string) =>
  statement.replaceAll('$paid', ids.paid).replaceAll('$rejected', ids.rejected);
const differs = 'day: root differs';
const changedFirst = "paid 1: changed, or the refund's amount, payment or requester was";
const hashOfNothing = `hash = sha256('nothing')`;

describe('finds', () => {
  test.each<[string, string[], string[]]>([
    ['another actor', [set(`actor = 'user:usr_eve'`, paid(1))], [changedFirst]],
    ['another detail', [set(`detail = '{"x": 1}'`, paid(2))], ['paid 2: changed, or does not follow seq 1']],
    [
      'another time',
      [set(`created_at = created_at + interval '1 minute'`, paid(1))],
      [changedFirst, differs],
    ],
    [
      'another amount of the refund',
      [`UPDATE refund SET amount = amount - 1 WHERE id = '$paid'`],
      [changedFirst],
    ],
    [
      'another hash',
      [set(hashOfNothing, paid(1))],
      [changedFirst, 'paid 2: changed, or does not follow seq 1', differs],
    ],
    ['a hash that was removed', [set('hash = NULL', paid(2))], ['paid 2: has no hash', differs]],
    [
      'an event that was removed from the middle',
      [`DELETE FROM refund_event WHERE refund_id = '$rejected' AND seq = 2`],
      ['rejected 2: missing', differs],
    ],
    [
      'a last event that was removed',
      [`DELETE FROM refund_event WHERE refund_id = '$paid' AND type = 'refund.completed'`],
      [
        'paid 1: last event, with the status processing, but the refund is completed or has another external id',
        differs,
      ],
    ],
    [
      'a refund that was removed',
      [`DELETE FROM refund_event WHERE refund_id = '$paid'`, `DELETE FROM refund WHERE id = '$paid'`],
      [differs],
    ],
    [
      'events of a day that was over without any',
      [
        `INSERT INTO refund_event (id, refund_id, seq, type, actor, status, detail, created_at)
         SELECT 'evt_new', refund_id, 3, 'lookup.absent', 'worker', status, '{}', created_at - interval '9 days'
         FROM refund_event WHERE ${paid(2)}`,
      ],
      ['day: events of a day that was published without a root'],
    ],
    ['all refunds that were removed', ['DELETE FROM refund_event', 'DELETE FROM refund'], ['day: all']],
    ['a root that was changed', [`UPDATE timeline_root SET root = sha256('nothing')`], [differs]],
    [
      'an event that was added to a day that is published',
      [
        `INSERT INTO refund_event (id, refund_id, seq, type, actor, status, detail, created_at)
         SELECT 'evt_new', refund_id, 3, 'lookup.absent', 'worker', status, '{}', created_at FROM refund_event
         WHERE ${paid(2)}`,
      ],
      [differs],
    ],
    [
      'two events that were swapped',
      [set('seq = 99', paid(1)), set('seq = 1', paid(2)), set('seq = 2', paid(99))],
      [
        changedFirst,
        'paid 2: changed, or does not follow seq 1',
        'paid 2: last event, with the status processing, but the refund is completed or has another external id',
      ],
    ],
    [
      'words that were changed',
      [set(`detail = detail || '{"reason": "Bob kept it"}'`, `refund_id = '$rejected' AND seq = 3`)],
      ['rejected 3: its text was changed'],
    ],
    [
      'words that were changed as if they were erased',
      [
        set(
          `detail = detail || '{"reason": "Bob kept it"}', words_salt = NULL`,
          `refund_id = '$rejected' AND seq = 3`,
        ),
      ],
      ['rejected 3: its text was changed'],
    ],
    [
      'another status under an erasure',
      [
        set(
          `detail = detail || '{"reason": "(erased)"}', words_salt = NULL, status = 'completed'`,
          `refund_id = '$rejected' AND seq = 3`,
        ),
      ],
      [
        'rejected 3: changed, or does not follow seq 2',
        'rejected 3: last event, with the status completed, but the refund is cancelled or has another external id',
      ],
    ],
  ])('a verification finds what was done: %s', async (_, statements, problems) => {
    expect((await foundAfter(...statements.map(named))).toSorted()).toEqual(problems.toSorted());
  });
});

test('an erasure of personal data is no change, and keeps nothing that words can be tried on', async () => {
  expect((await ownerCliOf(service)(['refund', 'erase', ids.rejected])).code).toBe(0);
  expect(await verified(service.deps.db)).toMatchObject({ found: [], erased: 1 });
  const where = { refundId: ids.rejected, seq: 3 };
  expect(await service.deps.db.refundEvent.findFirst({ where })).toMatchObject({ wordsSalt: null });
});

test('an organization sees its own problems, with the roots that were published to it', async () => {
  const [root] = await service.deps.db.timelineRoot.findMany({ orderBy: { day: 'desc' } });
  const day = root?.day.toISOString().slice(0, 10);
  const hex = Buffer.from(root?.root ?? []).toString('hex');
  const mine = ['timeline', 'verify', '--organization', service.organization.id];
  const proven = await admin([...mine, '--since', day ?? '', '--root', `${day}=${hex}`]);
  expect(proven).toMatchObject({ code: 0, stdout: `root ${service.organization.id} test ${day} ${hex}\n` });

  const other = await admin([...mine, '--root', `${day}=${'0'.repeat(64)}`, '--root', `2020-01-01=${hex}`]);
  expect(other.code).toBe(1);
  expect(other.stderr).toContain(`${day}: the published root is not that of the database`);
  expect(other.stderr).toContain('2020-01-01: there is no root');
  expect(other.stderr).toContain('restored from a backup');
  expect((await admin(['timeline', 'verify', '--root', `${day}=${hex}`])).stderr).toContain('--organization');
});

test('events from before the hashes are counted, and the next event begins a chain', async () => {
  const { ownerDb, deps } = service;
  await ownerDb.$executeRawUnsafe('ALTER TABLE refund_event DISABLE TRIGGER refund_event_hash');
  const id = await create(6_000);
  await ownerDb.$executeRawUnsafe('ALTER TABLE refund_event ENABLE TRIGGER refund_event_hash');
  const owner = { organizationId: service.organization.id, environment: 'test' } as const;
  await rejectRefund(deps, await findOwnRefund(deps.db, owner, id), 'user:usr_ada', null);
  const { code, stderr } = await admin(['timeline', 'verify']);
  expect(code, stderr).toBe(0);
  expect(stderr).toContain('Not proven: 2 events from before');
});
