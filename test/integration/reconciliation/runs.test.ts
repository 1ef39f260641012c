import { afterEach, beforeAll, describe, expect, onTestFinished, test, vi } from 'vitest';
import { newId } from '#shared/platform/ids.ts';
import { setProcessorAccount } from '#shared/processors/accounts/manage-accounts.ts';
import { reconcileAccount } from '#shared/reconciliation/reconcile-account.ts';
import { nextWindow, requestRun, scheduleActor, takeRequestedRun } from '#shared/reconciliation/runs.ts';
import { paused } from '#test/support/processors/paused.ts';
import { reconcileAsRequested } from '#worker/schedule/reconcile.ts';
import { PROCESSORS, type ProcessorName, sandboxCredentials } from '../../sandbox/processors.ts';
import { endAtProcessor } from '../../support/processors/end-at-processor.ts';
import {
  accountOf,
  findingsAbout,
  leftToRefund,
  reconcile,
} from '../../support/processors/reconciliation.ts';
import { completedRefund } from '../../support/refunds/flagged-refunds.ts';
import { newPayment } from '../../support/refunds/payments.ts';
import { refundDirectly } from '../../support/refunds/refund-directly.ts';
import type { RefundRecord } from '../../support/refunds/refund-records.ts';
import { useService } from '../../support/use-service.ts';
import { waitFor } from '../../support/wait-for.ts';

const day = 86_400_000;

describe('a run', () => {
  const service = useService({
    workers: 0,
    settings: { RETRY_BASE_MS: 20, RETRY_CAP_MS: 50 },
  });
  beforeAll(() => service.sandbox.settings({ autoSettleMs: null }));
  afterEach(async () => {
    await service.sandbox.clearFaults();
    await service.deps.db.processorAccount.updateMany({ data: { rateLimits: {} } });
  });

  /** Holds runs that have begun, before they ask their processor. */
  function holdConnecting() {
    const { connections } = service.deps;
    const connect = connections.connect.bind(connections);
    let release = () => {};
    const released = new Promise<void>((resolve) => {
      release = resolve;
    });
    const spy = vi.spyOn(connections, 'connect').mockImplementation(async (account) => {
      await released;
      return await connect(account);
    });
    onTestFinished(() => spy.mockRestore());
    return { release };
  }

  /** From the second request of the list on, so many times. */
  async function failInTheMiddle(
    processor: ProcessorName,
    kind: string,
    times: number | null,
  ): Promise<void> {
    const list = { processor, operation: 'refund.list' };
    await service.sandbox.fault({ ...list, kind: 'delay', delayMs: 0 });
    await service.sandbox.fault({ ...list, kind, times });
  }

  test('is the only one of its account, however many are started', async () => {
    const connecting = holdConnecting();
    const account = await accountOf(service, 'stripe');
    const window = await nextWindow(service.deps, account);
    const before = await service.deps.db.reconciliationRun.count();
    const { signal } = new AbortController();
    const outcomes: unknown[] = [];
    const runs = Array.from({ length: 5 }, async () => {
      outcomes.push(await reconcileAccount(service.deps, { account, window, actor: 'test', signal }));
    });
    await waitFor('all but one to end', () => outcomes.length === 4);
    connecting.release();
    await Promise.all(runs);
    expect(outcomes.filter((run) => run !== null)).toHaveLength(1);
    expect(await service.deps.db.reconciliationRun.count()).toBe(before + 1);
  });

  test('is closed and repeated when its process died, but not before its lease is over', async () => {
    const account = await accountOf(service, 'stripe');
    const id = newId('rec');
    const minute = 60_000;
    await service.deps.db.reconciliationRun.create({
      data: {
        id,
        accountId: account.id,
        windowStart: new Date(0),
        windowEnd: new Date(),
        actor: 'worker',
        startedAt: new Date(),
        claimedUntil: new Date(Date.now() + minute),
      },
    });
    await expect(reconcile(service, 'stripe')).rejects.toThrow('under way');
    await service.deps.db.reconciliationRun.update({
      where: { id },
      data: { claimedUntil: new Date(Date.now() - minute) },
    });
    expect((await reconcile(service, 'stripe')).run.failure).toBeNull();
    const dead = await service.deps.db.reconciliationRun.findUniqueOrThrow({ where: { id } });
    expect(dead).toMatchObject({ finishedAt: expect.any(Date), failure: expect.stringContaining('process') });
  });

  test('that a member has requested is carried out by another worker when the first one was killed', async () => {
    const account = await accountOf(service, 'braintree');
    const { db } = service.deps;
    const requested = await requestRun(
      service.deps,
      account,
      await nextWindow(service.deps, account),
      'user:1',
    );
    expect((await takeRequestedRun(service.deps))?.id).toBe(requested?.id);
    expect(await takeRequestedRun(service.deps)).toBeNull();
    await db.reconciliationRun.updateMany({
      where: { finishedAt: null },
      data: { claimedUntil: new Date(Date.now() - day) },
    });
    await reconcileAsRequested(service.deps, new AbortController().signal);
    const run = await db.reconciliationRun.findUniqueOrThrow({ where: { id: requested?.id ?? '' } });
    expect(run).toMatchObject({ finishedAt: expect.any(Date), failure: null });
  });

  test('of before a restore or only requested is closed by the recovery, and one that has begun since is waited for', async () => {
    const account = await accountOf(service, 'braintree');
    const { db } = service.deps;
    const begin = (startedAt: Date, claimedUntil: Date | null = new Date(Date.now() + day)) =>
      db.reconciliationRun.create({
        data: {
          ...{ id: newId('rec'), accountId: account.id, windowStart: new Date(0), windowEnd: new Date() },
          ...{ actor: 'worker', startedAt, claimedUntil },
        },
      });
    const recover = () => reconcile(service, 'braintree', { putsBack: true });
    await db.recovery.update({ where: { id: 1 }, data: { requiredSince: new Date() } });
    onTestFinished(async () => {
      await db.recovery.update({ where: { id: 1 }, data: { requiredSince: null } });
    });
    for (const begun of [
      () => begin(new Date(Date.now() - day)),
      () => begin(new Date(Date.now() + day), null),
    ]) {
      const { id } = await begun();
      expect((await recover()).run.failure).toBeNull();
      const closed = await db.reconciliationRun.findUniqueOrThrow({ where: { id } });
      expect(closed).toMatchObject({ finishedAt: expect.any(Date), claimedUntil: null });
    }
    const later = await begin(new Date(Date.now() + day));
    await expect(recover()).rejects.toThrow('under way');
    await db.reconciliationRun.update({
      where: { id: later.id },
      data: { finishedAt: new Date(), claimedUntil: null },
    });
  });

  test('is not repeated by a process that learnt long ago that the account is due', async () => {
    const account = await accountOf(service, 'stripe', { environment: 'live' });
    const deps = { ...service.deps, settings: { ...service.settings, RECONCILIATION_INTERVAL_MS: day } };
    const window = await nextWindow(deps, account);
    const { signal } = new AbortController();
    const run = () => reconcileAccount(deps, { account, window, actor: scheduleActor, signal });
    const first = await run();
    expect(first?.failure).toBeNull();
    expect(await run()).toBeNull();

    // As a process that died leaves it: repeated at once, and not after a pause like a failed run.
    await deps.db.reconciliationRun.update({
      where: { id: first?.id ?? '' },
      data: { finishedAt: null, claimedUntil: new Date(0) },
    });
    expect((await run())?.failure).toBeNull();
  });

  test('writes nothing more once another process has closed it', async () => {
    const transactionId = await newPayment(service);
    await leftToRefund(service, transactionId);
    await refundDirectly(service, { processor: 'stripe', transactionId, amount: 100 });
    const connecting = holdConnecting();
    const running = reconcile(service, 'stripe');
    const lost = expect(running).rejects.toThrow('lost its lease');
    await waitFor('the run to begin', () =>
      service.deps.db.reconciliationRun.findFirst({ where: { finishedAt: null } }),
    );
    await service.deps.db.reconciliationRun.updateMany({
      where: { finishedAt: null },
      data: { finishedAt: new Date(), failure: 'closed by a test' },
    });
    connecting.release();
    await lost;
    const findings = await service.deps.db.reconciliationFinding.count({
      where: { run: { failure: 'closed by a test' } },
    });
    expect(findings).toBe(0);
  });

  test('marks an account whose credentials are refused, and clears the mark when the processor answers again', async () => {
    const { stripe } = sandboxCredentials('test', service.sandboxUrl);
    const setKey = (secretKey: string) =>
      setProcessorAccount(service.deps, {
        organizationId: service.organization.id,
        environment: 'test',
        processor: 'stripe',
        credentials: { ...stripe, secretKey },
        actor: 'test',
      });
    await setKey('sk_test_invalid');
    expect((await reconcile(service, 'stripe')).run.failure).toContain('rejected the credentials');
    expect((await accountOf(service, 'stripe')).misconfiguredAt).not.toBeNull();

    await setKey(stripe.secretKey);
    const { id } = await accountOf(service, 'stripe');
    await service.deps.db.processorAccount.update({ where: { id }, data: { misconfiguredAt: new Date() } });
    expect((await reconcile(service, 'stripe')).run.failure).toBeNull();
    expect((await accountOf(service, 'stripe')).misconfiguredAt).toBeNull();
  });

  describe.each(PROCESSORS)('of a list of several pages at %s', (processor) => {
    /** Enough for a list of more than one page. */
    const count = 110;
    let oldest: RefundRecord;
    let transactionId: string;
    beforeAll(async () => {
      oldest = await completedRefund(service, processor);
      transactionId = await newPayment(service, { processor, amount: 100_000 });
      for (let made = 0; made < count; made += 10) {
        await Promise.all(
          Array.from({ length: 10 }, () =>
            refundDirectly(service, { processor, transactionId, amount: 100 }),
          ),
        );
      }
    });

    test('says why it cannot read the whole list, and concludes nothing from what is missing', async () => {
      const missing = await completedRefund(service, processor);
      await service.deps.db.refund.update({
        where: { id: missing.id },
        data: { externalRefundId: processor === 'stripe' ? 're_missing' : 'credit_missing' },
      });
      await failInTheMiddle(processor, 'error-503', null);
      const { run, findings } = await reconcile(service, processor);
      expect(run).toMatchObject({ finishedAt: expect.any(Date), claimedUntil: null });
      expect(run.failure).toMatch(/did not answer 5 attempts\. Last answer: /);
      expect(findings.filter(({ kind }) => kind === 'missing_there')).toEqual([]);

      await service.sandbox.clearFaults();
      const kinds = (await findingsAbout(service, processor, { refundId: missing.id })).map(
        ({ kind }) => kind,
      );
      expect(kinds).toContain('missing_there');
    });

    test.each(['malformed', 'rate-limit'])('continues after %s in the middle', async (kind) => {
      await failInTheMiddle(processor, kind, 1);
      const { run } = await reconcile(service, processor);
      expect(run.failure).toBeNull();
      expect(run.comparedCount).toBeGreaterThan(110);
    });

    test('does not wait for a processor that allows no lists for long', async () => {
      const account = await accountOf(service, processor);
      const rateLimits = paused(new Date(Date.now() + 3_600_000), 'listRefunds');
      await service.deps.db.processorAccount.update({ where: { id: account.id }, data: { rateLimits } });
      const { run } = await reconcile(service, processor);
      expect(run.failure).toMatch(/asks for a pause of 3\d\d\d seconds/);
    });

    test('finds a late failure on the last page of the list, and reports each refund made elsewhere once', async () => {
      // From now on the payment is on record, and its refunds are reported.
      await leftToRefund(service, transactionId);
      await endAtProcessor(service, oldest, 'failed');
      const { run, findings } = await reconcile(service, processor);
      expect(run.comparedCount).toBeGreaterThan(count);
      expect(findings.filter(({ refundId }) => refundId === oldest.id)).toMatchObject([
        { kind: 'reversed_there' },
      ]);
      const reported = findings.filter((finding) => finding.transactionId === transactionId);
      expect(new Set(reported.map(({ externalRefundId }) => externalRefundId)).size).toBe(count);
      expect(reported).toHaveLength(count);
      expect(await leftToRefund(service, transactionId)).toBe(100_000 - count * 100);
    });
  });
});

describe('a worker that is shut down', () => {
  const service = useService({ workers: 0, settings: { RECONCILIATION_INTERVAL_MS: 300 } });

  test('stops its run soon, and another worker repeats it', async () => {
    const { reconciliationRun, processorAccount } = service.deps.db;
    // The run waits while the lists are paused.
    const pausedUntil = new Date(Date.now() + 55_000);
    await processorAccount.updateMany({ data: { rateLimits: paused(pausedUntil, 'listRefunds') } });
    const worker = service.startWorker();
    await waitFor('a run to begin', () => reconciliationRun.findFirst({ where: { finishedAt: null } }));
    await worker.close();
    const left = await reconciliationRun.findFirstOrThrow({ orderBy: { startedAt: 'desc' } });
    expect(left).toMatchObject({ failure: 'The process was shut down.', claimedUntil: null });
    expect(Number(left.finishedAt)).toBeLessThan(Number(pausedUntil));

    await processorAccount.updateMany({ data: { rateLimits: {} } });
    service.startWorker();
    const { accountId } = left;
    await waitFor('the run to be made again', () =>
      reconciliationRun.findFirst({ where: { accountId, failure: null, finishedAt: { not: null } } }),
    );
  });
});
