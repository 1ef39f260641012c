import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest';
import { openLog } from '#shared/platform/log.ts';
import { approveRefund, rejectRefund } from '#shared/refunds/decisions/approve.ts';
import { openPositionMarks } from '#shared/refunds/lifecycle/position-marks.ts';
import { readRecovery } from '#shared/refunds/lifecycle/recovery.ts';
import { openRefundWork } from '#worker/advance/advance-refund.ts';
import { feedPositionTask } from '#worker/schedule/feed-position.ts';
import type { MovedRefund } from '../../sandbox/clients.ts';
import type { ProcessorName } from '../../sandbox/processors.ts';
import { adminCliOf } from '../../support/processes/admin-cli.ts';
import { useTemporaryFolder } from '../../support/processes/temporary-folder.ts';
import { reconcile } from '../../support/processors/reconciliation.ts';
import { newPayment } from '../../support/refunds/payments.ts';
import { rowOf, timelineOf, untilStatus } from '../../support/refunds/refund-records.ts';
import { storePolicies } from '../../support/refunds/stored-policies.ts';
import { type ServiceOptions, startService, type TestService } from '../../support/service.ts';
import { postgresQueues } from '../../support/stores/backends.ts';
import { useDatabase } from '../../support/stores/database.ts';
import { createDatabase, withClient } from '../../support/stores/database-client.ts';
import { openTestDatabase } from '../../support/stores/open-database.ts';
import { waitFor } from '../../support/wait-for.ts';

// A service makes refunds, its database is backed up, it makes more, and a second service starts on the backup. Both use the same
// processors, and workers keep their marks in the same folder.

interface Asked {
  body: { transactionId: string; amount: number; reason: 'other'; processor: string };
  key: string | null;
}

const processors = ['stripe', 'braintree'] as const;
const failed = { stripe: 'failed', braintree: 'settlement_declined' } as const;
const folder = useTemporaryFolder();
const databaseUrl = useDatabase();
let lost: TestService;
let restored: TestService;
/** Another copy of the backup. */
let copied: string;
/** When the backup was made. */
let since: string;
/** What was asked for, by the refund's id. */
const asked = new Map<string, Asked>();
/** Every refund that the processors had when the database was restored. */
let moved: MovedRefund[];

async function start(
  url: string,
  { workers = 1, ...settings }: ServiceOptions['settings'] & { workers?: number } = {},
): Promise<TestService> {
  const kept = {
    ...{ DATA_DIR: folder('data'), RECONCILIATION_LOOKBACK_MS: 3_600_000 },
    // A backup breaks steps off, which go on once their leases are over.
    PROCESSOR_TIMEOUT_MS: 5_000,
    ...settings,
  };
  const options = { databaseUrl: url, backend: postgresQueues, settings: kept, workers };
  const marks = openPositionMarks(
    {
      DATA_DIR: folder('data'),
      REDIS_URL: null,
      ENCRYPTION_KEY: 'any',
      ENCRYPTION_PREVIOUS_KEYS: [],
    } as never,
    openLog('silent', 'test'),
  );
  await marks.read();
  return await startService({ ...options, overrides: { positionMarks: marks } });
}

/** A copy of a database, as a backup that is restored at once. */
async function backUp(url: string): Promise<string> {
  const server = inject('postgresUrl');
  const name = new URL(url).pathname.slice(1);
  await withClient(server, async (client) => {
    await client.query(`alter database "${name}" allow_connections false`);
    await client.query('select pg_terminate_backend(pid) from pg_stat_activity where datname = $1', [name]);
  });
  try {
    return await waitFor('a copy of the database', () =>
      createDatabase(server, `${name}_backup`, { template: name }),
    );
  } finally {
    await withClient(server, (client) => client.query(`alter database "${name}" allow_connections true`));
  }
}

async function refund(
  processor: ProcessorName,
  transactionId: string,
  amount: number,
  key: string | null,
): Promise<string> {
  const request: Asked = { body: { transactionId, amount, reason: 'other', processor }, key };
  const id = await waitFor(
    'a refund',
    async () => (await ask(lost, request)).body.data?.id as string | undefined,
  );
  asked.set(id, request);
  return id;
}

async function ask(service: TestService, { body, key }: Asked) {
  const headers = { prefer: 'respond-async', ...(key === null ? {} : { 'idempotency-key': key }) };
  return await service.call('POST', '/v1/refunds', {
    body,
    headers,
    key: lost.organization.keys.test.plaintext,
  });
}

async function movements(): Promise<MovedRefund[]> {
  const rows = await Promise.all(processors.map((processor) => lost.sandbox.refunds({ processor })));
  return rows.flat().toSorted((a, b) => (a.id < b.id ? -1 : 1));
}

/** The refunds of one processor, before and after the backup. */
async function makeRefunds(processor: ProcessorName) {
  const known = await newPayment(lost, { processor });
  const unsent = await newPayment(lost, { processor });
  await lost.sandbox.fault({
    processor,
    operation: 'refund.create',
    kind: 'error-503',
    transactionId: unsent,
    times: 1_000,
  });
  const early = {
    completed: await refund(processor, known, 1_000, `${processor}-completed`),
    waiting: await refund(processor, await newPayment(lost, { processor }), 9_000, `${processor}-waiting`),
    unsent: await refund(processor, unsent, 2_000, `${processor}-unsent`),
  };
  await untilStatus(lost, early.completed, 'completed');
  return {
    early,
    async afterBackUp() {
      await lost.sandbox.clearFaults();
      await waitFor('the approval', async () =>
        approveRefund(lost.deps, await rowOf(lost, early.waiting), 'cli:ada'),
      );
      const late = {
        onKnownPayment: await refund(processor, known, 3_000, `${processor}-known`),
        onNewPayment: await refund(
          processor,
          await newPayment(lost, { processor }),
          4_000,
          `${processor}-new`,
        ),
        unkeyed: await refund(processor, await newPayment(lost, { processor, amount: 5_000 }), 5_000, null),
      };
      for (const id of Object.values({ ...early, ...late })) await untilStatus(lost, id, 'completed');
      const bounced = await refund(
        processor,
        await newPayment(lost, { processor }),
        6_000,
        `${processor}-bounced`,
      );
      const { externalRefundId } = await untilStatus(lost, bounced, 'completed');
      await lost.sandbox.driveRefund(externalRefundId ?? '', { status: failed[processor] });
      return { ...early, ...late, bounced };
    },
  };
}

/** Refunds that the processor has accepted and not settled, one of them cancelled. */
async function makeOpenRefunds(processor: ProcessorName) {
  // Stripe cancels only what waits for the customer.
  const paid = { processor, ...(processor === 'stripe' ? { paymentMethod: 'customer_balance' } : {}) };
  const accepted = async (amount: number, key: string) => {
    const id = await refund(processor, await newPayment(lost, paid), amount, `${processor}-${key}`);
    await waitFor('its acceptance', async () => (await rowOf(lost, id)).externalRefundId);
    return id;
  };
  const open = await accepted(1_500, 'open');
  const cancelled = await accepted(1_700, 'cancelled');
  expect((await lost.call('POST', `/v1/refunds/${cancelled}/cancel`)).body.data.status).toBe('cancelled');
  return { open, cancelled };
}

type MadeRefunds = Awaited<ReturnType<Awaited<ReturnType<typeof makeRefunds>>['afterBackUp']>>;

let refunds: Record<ProcessorName, MadeRefunds & Awaited<ReturnType<typeof makeOpenRefunds>>>;
let voided: string;
/** Requested of the restored service for the first time, before the recovery. */
let fresh: string;

beforeAll(async () => {
  lost = await start(databaseUrl());
  await lost.sandbox.settings({ autoSettleMs: 50 });
  await storePolicies(lost, { approvalAbove: { api: 8_000 } });
  const stripe = await makeRefunds('stripe');
  const braintree = await makeRefunds('braintree');
  const backup = await backUp(databaseUrl());
  copied = await backUp(backup);
  since = new Date().toISOString();
  const late = { stripe: await stripe.afterBackUp(), braintree: await braintree.afterBackUp() };
  const sale = await newPayment(lost, {
    processor: 'braintree',
    status: 'submitted_for_settlement',
    amount: 7_000,
  });
  voided = await refund('braintree', sale, 7_000, 'braintree-void');
  await untilStatus(lost, voided, 'completed');
  await lost.sandbox.settings({ autoSettleMs: null });
  refunds = {
    stripe: { ...late.stripe, ...(await makeOpenRefunds('stripe')) },
    braintree: { ...late.braintree, ...(await makeOpenRefunds('braintree')) },
  };
  await waitFor('a mark beyond the backup', () => lost.deps.positionMarks.reached.length > 0);
  const last = (await readRecovery(lost.deps.db, [])).lastEvent?.position ?? 0;
  await waitFor('the last mark', () => lost.deps.positionMarks.reached.some((mark) => mark.position >= last));
  moved = await movements();
  const { ENCRYPTION_KEY } = lost.settings;
  restored = await start(backup, { ENCRYPTION_KEY, CANCEL_WAIT_MS: 100, workers: 0 });
  // Until a worker looks, the feed has passed the position of before. These await approval, so they move nothing.
  const position = async () => (await readRecovery(restored.deps.db, [])).lastEvent?.position ?? 0;
  while ((await position()) <= last) {
    const transactionId = await newPayment(lost);
    const body = { transactionId, amount: 9_500, reason: 'other', processor: 'stripe' } as const;
    expect((await ask(restored, { body, key: null })).body.data.status).toBe('pending');
  }
  // Before any claim, which would notice the restore as well.
  await feedPositionTask(restored.deps).run(new AbortController().signal);
  expect(restored.deps.positionMarks.reached.map(({ position }) => position)).toContain(last);
  restored.startWorker();
}, 180_000);

afterAll(async () => {
  await restored?.close();
  await lost?.close();
});

test('sends nothing from a restored database until the recovery', async () => {
  const recovery = () => readRecovery(restored.deps.db, []);
  await waitFor('the restore to be noticed', async () => !(await recovery()).maySend);
  const readiness = await restored.call('GET', '/readyz');
  expect(readiness.body).toMatchObject({ status: 'degraded', workers: 'held' });
  for (const processor of processors) {
    expect((await ask(restored, asked.get(refunds[processor].onNewPayment) as Asked)).status).toBe(200);
    expect(await restored.deps.statements.claimDue(processor, 100)).toMatchObject({
      claims: [],
      isMore: false,
    });
  }
  const transactionId = await newPayment(lost);
  const body = { transactionId, amount: 500, reason: 'other', processor: 'stripe' } as const;
  fresh = (await ask(restored, { body, key: 'fresh' })).body.data.id;
  expect((await movements()).map(({ id }) => id)).toEqual(moved.map(({ id }) => id));
});

test.each(processors)(
  'calls nothing of %s cancelled that may have been sent after the backup',
  async (processor) => {
    const { waiting, unsent, onNewPayment } = refunds[processor];
    const { body: asksAgain } = await ask(restored, asked.get(onNewPayment) as Asked);
    const cancel = async (id: string) => {
      const key = lost.organization.keys.test.plaintext;
      return (await restored.call('POST', `/v1/refunds/${id}/cancel`, { key })).body.error?.code;
    };
    expect(await Promise.all([waiting, unsent, asksAgain.data.id].map(cancel))).toEqual([
      'service_unavailable',
      'refund_not_cancellable',
      'refund_not_cancellable',
    ]);
    const rejecting = rejectRefund(restored.deps, await rowOf(restored, waiting), 'user:usr_ada', null);
    await expect(rejecting).rejects.toMatchObject({ code: 'service_unavailable' });
  },
);

test('reports refunds of ours that are not on record', async () => {
  const organizationId = lost.organization.id;
  const { findings } = await reconcile(restored, 'stripe', { organizationId });
  const { externalRefundId } = await rowOf(lost, refunds.stripe.unkeyed);
  expect(findings).toContainEqual(
    expect.objectContaining({ kind: 'not_on_record', action: 'nothing', externalRefundId }),
  );
});

describe('a recovery', () => {
  test('puts back what processors have, and reports the rest', async () => {
    const { code, stdout, stderr } = await adminCliOf(restored)(['recover', '--since', since]);
    expect(stderr).toContain('Recovery is complete.');
    // A void carries no name.
    expect([code, stdout.match(/yes .*/g)]).toEqual([3, [expect.stringContaining('Braintree has refund')]]);
  });

  test.each(processors)('has every refund of %s as it was, sent once', async (processor) => {
    const { onNewPayment: asksAgain, ...others } = refunds[processor];
    await untilStatus(restored, others.open, 'processing');
    await lost.sandbox.driveRefund((await rowOf(lost, others.open)).externalRefundId ?? '', {
      status: { stripe: 'succeeded', braintree: 'settled' }[processor],
    });
    const ended: Record<string, string> = { [others.bounced]: 'failed', [others.cancelled]: 'cancelled' };
    const kept = ['amount', 'currency', 'externalRefundId', 'idempotencyKey'] as const;
    for (const id of Object.values(others)) {
      const [before, after] = [
        await rowOf(lost, id),
        await untilStatus(restored, id, ended[id] ?? 'completed'),
      ];
      expect(kept.map((field) => after[field])).toEqual(kept.map((field) => before[field]));
    }
    expect(await timelineOf(restored, refunds[processor].unkeyed)).toEqual([
      'refund.created',
      'recovery.put_back',
      'refund.completed',
    ]);
    // Requested again before the recovery, under another id: it has become the refund that the processor has.
    const { externalRefundId } = await rowOf(lost, asksAgain);
    await waitFor('the refund to be found', () =>
      restored.deps.db.refund.findFirst({ where: { externalRefundId, status: 'completed' } }),
    );
  });

  test('answers the requests of before with the refunds of before', async () => {
    for (const [id, request] of asked) {
      if (request.key === null || id === voided) continue;
      const { status, body, headers } = await ask(restored, request);
      const { externalRefundId } = await rowOf(lost, id);
      expect([status, headers['idempotent-replayed'], body.data?.externalRefundId], request.key).toEqual([
        200,
        'true',
        externalRefundId,
      ]);
    }
    expect((await ask(restored, asked.get(voided) as Asked)).body.error.code).toBe(
      'refund_already_processed',
    );
  });

  test('sends what was requested before it only after a lookup', async () => {
    await waitFor('its acceptance', async () => (await rowOf(restored, fresh)).externalRefundId);
    const timeline = await timelineOf(restored, fresh);
    expect(timeline.indexOf('lookup.absent')).toBeGreaterThan(0);
    expect(timeline.indexOf('attempt.accepted')).toBeGreaterThan(timeline.indexOf('lookup.absent'));
  });

  test('has moved no other money', async () => {
    const others = (await movements()).filter(({ key }) => key !== fresh);
    expect(others.map(({ id }) => id)).toEqual(moved.map(({ id }) => id));
    const ids = new Set(
      (await restored.deps.db.refund.findMany()).map(({ externalRefundId }) => externalRefundId),
    );
    expect(moved.filter(({ id }) => !ids.has(id)).map(({ status }) => status)).toEqual(['voided']);
  });

  test('is known by its events: a backup of before it, restored once more, sends nothing', async () => {
    const { generation } = await readRecovery(restored.deps.db, []);
    const reached = () => restored.deps.positionMarks.reached;
    await waitFor('a mark since then', () => reached().some((mark) => mark.generation === generation));
    const db = openTestDatabase(copied);
    const { maySend } = await readRecovery(db, reached());
    await db.$disconnect();
    expect(maySend).toBe(false);
  });
});

test('a recovery since a time in the future changes nothing', async () => {
  const { code, stderr } = await adminCliOf(restored)(['recover', '--since', '2100-01-01']);
  expect([code, stderr]).toEqual([1, expect.stringContaining('--since must not be in the future.')]);
  expect((await readRecovery(restored.deps.db, [])).maySend).toBe(true);
});

test('sends nothing while RESTORED is set', async () => {
  const work = openRefundWork({ ...lost.deps, settings: { ...lost.settings, RESTORED: true } }, 'stripe');
  expect(await work.look()).toBe(false);
});
