import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type NeedsPerson, readNeedsPerson } from '../../../shared/insights/needs-person.ts';
import { type Database, openDatabase, type Refund } from '../../../shared/platform/database.ts';
import { newId } from '../../../shared/platform/ids.ts';
import type { RefundOwner } from '../../../shared/refunds/model/refund.ts';
import { fillRefunds } from '../../support/refunds/many-refunds.ts';
import { useDatabase } from '../../support/stores/database.ts';
import { withClient } from '../../support/stores/database-client.ts';

const now = new Date('2026-11-21T12:00:00Z');
const minutesAgo = (minutes: number) => new Date(now.getTime() - minutes * 60_000);
const owner: RefundOwner = { organizationId: 'org_ours', environment: 'live' };
const theirs: RefundOwner = { organizationId: 'org_theirs', environment: 'live' };

const databaseUrl = useDatabase();
let db: Database;

beforeAll(async () => {
  await withClient(databaseUrl(), async (client) => {
    for (const each of [owner, theirs, { ...owner, environment: 'test' as const }]) {
      await fillRefunds(client, { ...each, count: 300, now, days: 10 });
    }
  });
  db = openDatabase(databaseUrl(), { poolSize: 5 });
});
afterAll(() => db.$disconnect());

const read = () => readNeedsPerson(db, owner);

test('refunds that wait for approval are counted, and shown with the one that has waited longest first', async () => {
  const where = { ...owner, status: 'pending' } as const;
  const orderBy = [{ createdAt: 'asc' as const }, { id: 'asc' as const }];
  const waiting = await db.refund.findMany({ where, orderBy, include: { work: true } });
  const { approvals } = await read();
  expect(approvals).toMatchObject({ count: waiting.length, atLeast: false, oldest: waiting[0]?.createdAt });
  expect(approvals.items.map(({ refund }) => refund)).toEqual(waiting.slice(0, 5));
});

test('flagged refunds are counted, and shown with their reason, the oldest flag first', async () => {
  const where = { ...owner, flaggedAt: { not: null } };
  const orderBy = [{ flaggedAt: 'asc' as const }, { refundId: 'asc' as const }];
  const all = await db.refundWork.findMany({ where, orderBy, include: { refund: true } });
  const { flagged } = await read();
  expect(flagged).toMatchObject({ count: all.length, atLeast: false, oldest: all[0]?.flaggedAt });
  expect(flagged.items).toEqual(
    all.slice(0, 5).map(({ refund, ...work }) => ({
      refund: { ...refund, work },
      since: work.flaggedAt,
      why: work.flagReason,
    })),
  );
});

test('counting ends at a thousand', async () => {
  const many = { organizationId: 'org_many', environment: 'live' } as const;
  await withClient(databaseUrl(), (client) => fillRefunds(client, { ...many, count: 1_100, now, days: 1 }));
  await db.$executeRaw`
    INSERT INTO refund_work (refund_id, organization_id, environment, processor, flagged_at, flag_reason)
    SELECT id, organization_id, environment, processor, ${now}, 'It was flagged.' FROM refund
    WHERE organization_id = ${many.organizationId}
    ON CONFLICT (refund_id) DO UPDATE SET flagged_at = excluded.flagged_at, flag_reason = excluded.flag_reason`;
  const { flagged } = await readNeedsPerson(db, many);
  expect(flagged).toMatchObject({ count: 1_000, atLeast: true });
});

test('accounts whose credentials are refused are shown without their credentials', async () => {
  expect((await read()).refusedAccounts).toEqual({ count: 0, atLeast: false, oldest: null, items: [] });
  const where = { processor: 'stripe', organizationId: { in: ['org_ours', 'org_theirs'] } };
  await db.processorAccount.updateMany({ where, data: { misconfiguredAt: now } });
  const { refusedAccounts } = await read();
  expect(refusedAccounts).toMatchObject({
    count: 1,
    oldest: now,
    items: [{ ...owner, processor: 'stripe' }],
  });
  expect(refusedAccounts.items[0]).not.toHaveProperty('encryptedCredentials');
});

describe('of reconciliation', () => {
  let refund: Refund;
  let account: string;

  beforeAll(async () => {
    refund = await db.refund.findFirstOrThrow({
      where: { ...owner, processor: 'stripe', status: 'completed', work: null },
    });
    account = await accountOf(owner);
  });

  async function accountOf(of: RefundOwner): Promise<string> {
    return (await db.processorAccount.findFirstOrThrow({ where: { ...of, processor: 'stripe' } })).id;
  }

  interface RunOptions {
    accountId?: string;
    actor?: string;
    failure?: string | null;
    findings?: { kind: string; action: string }[];
  }

  /** A run that took a minute. */
  async function run(minutes: number, options: RunOptions = {}): Promise<string> {
    const { accountId = account, actor = 'worker', failure = null, findings = [] } = options;
    const id = newId('rec');
    const window = { windowStart: minutesAgo(1_000_000), windowEnd: minutesAgo(minutes) };
    const times = { startedAt: minutesAgo(minutes), finishedAt: minutesAgo(minutes - 1) };
    await db.reconciliationRun.create({ data: { id, accountId, actor, failure, ...window, ...times } });
    for (const finding of findings) {
      const about = { refundId: refund.id, externalRefundId: 're_extra', message: 'They differ.' };
      await db.reconciliationFinding.create({ data: { id: newId('fin'), runId: id, ...about, ...finding } });
    }
    return id;
  }

  /** What is open of the refund is this, or nothing. */
  async function setWork(
    work: { flaggedAt: Date; flagReason: string } | { dueAt: Date; resyncRequestedAt: Date } | null,
  ): Promise<void> {
    const { id: refundId, processor } = refund;
    await db.refundWork.deleteMany({ where: { refundId } });
    if (work !== null) await db.refundWork.create({ data: { ...owner, refundId, processor, ...work } });
  }
  const flag = { flaggedAt: minutesAgo(699), flagReason: 'They differ.' };

  async function trouble(): Promise<Pick<NeedsPerson, 'failedReconciliations' | 'openFindings'>> {
    const { failedReconciliations, openFindings } = await read();
    return { failedReconciliations, openFindings };
  }

  const none = { count: 0, atLeast: false, oldest: null, items: [] };
  const missing = { kind: 'missing_there', action: 'review_requested' };

  // Each test goes on, later in time, from where the one before it ended.
  test('there is nothing to see before the first run, whatever others found', async () => {
    await run(900, { accountId: await accountOf(theirs), failure: 'No answer.' });
    expect(await trouble()).toEqual({ failedReconciliations: none, openFindings: none });
  });

  test('runs that fail are shown since the first of them, until one succeeds', async () => {
    await run(800, { failure: 'No answer.' });
    const last = await run(790, { failure: 'Still none.' });
    const { failedReconciliations } = await trouble();
    expect(failedReconciliations).toMatchObject({ count: 1, oldest: minutesAgo(800) });
    expect(failedReconciliations.items).toMatchObject([
      { processor: 'stripe', runId: last, failure: 'Still none.' },
    ]);
    await run(780);
    expect((await trouble()).failedReconciliations).toEqual(none);
  });

  test('a finding for a person is shown while its refund is flagged, or about to be read again', async () => {
    await setWork(flag);
    await run(700, { findings: [missing, { kind: 'made_elsewhere', action: 'payment_read' }] });
    expect((await trouble()).openFindings).toMatchObject({
      count: 1,
      oldest: minutesAgo(700),
      items: [{ processor: 'stripe', refundId: refund.id, message: 'They differ.' }],
    });
    await setWork(null);
    expect((await trouble()).openFindings).toEqual(none);
    await setWork({ dueAt: now, resyncRequestedAt: now });
    expect((await trouble()).openFindings.count).toBe(1);
    await setWork(null);
  });

  test('a run that somebody starts neither hides what the schedule found nor doubles it', async () => {
    await setWork(flag);
    await run(650, { actor: 'cli:ada' });
    await run(640, { actor: 'cli:ada', findings: [missing] });
    expect((await trouble()).openFindings).toMatchObject({ count: 1 });
  });

  test('a run on schedule that no longer finds it ends it, and so does one after a person let it stand', async () => {
    await run(600);
    expect((await trouble()).openFindings).toEqual(none);
    await run(500, { findings: [{ kind: 'missing_there', action: 'dealt_with' }] });
    expect((await trouble()).openFindings).toEqual(none);
  });

  test('however many runs have failed since, neither the first of them nor what was found is forgotten', async () => {
    await run(450, { findings: [missing] });
    for (let minutes = 440; minutes > 310; minutes -= 1) await run(minutes, { failure: 'No answer.' });
    expect(await trouble()).toMatchObject({
      failedReconciliations: { count: 1, oldest: minutesAgo(440) },
      openFindings: { count: 1, oldest: minutesAgo(450) },
    });
  });
});
