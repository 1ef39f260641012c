import { expect } from 'vitest';
import type { ReconciliationFinding, ReconciliationRun } from '#shared/platform/database.ts';
import type { Environment } from '#shared/platform/environment.ts';
import type { AccountName } from '#shared/processors/accounts/account.ts';
import { findAccount } from '#shared/processors/accounts/account.ts';
import type { ListingWindow } from '#shared/processors/contract/processor.ts';
import { reconcileAccount } from '#shared/reconciliation/reconcile-account.ts';
import { nextWindow } from '#shared/reconciliation/runs.ts';
import type { ProcessorName } from '../../sandbox/processors.ts';
import { advanceRefund } from '../refunds/advance-refund.ts';
import { type RefundRecord, rowOf } from '../refunds/refund-records.ts';
import type { TestService } from '../service.ts';

export interface WhichAccount {
  organizationId?: string;
  environment?: Environment;
}

/** The organization's test account by default. */
export async function accountOf(
  { deps, organization }: TestService,
  processor: ProcessorName,
  { organizationId = organization.id, environment = 'test' }: WhichAccount = {},
): Promise<AccountName> {
  return await findAccount(deps.db, { organizationId, environment, processor });
}

export interface Reconciled {
  run: ReconciliationRun;
  findings: ReconciliationFinding[];
}

/** Reconciles an account as the service does it. @throws Error when another run is under way. */
export async function reconcile(
  service: TestService,
  processor: ProcessorName,
  options: WhichAccount & { window?: ListingWindow; putsBack?: boolean } = {},
): Promise<Reconciled> {
  const account = await accountOf(service, processor, options);
  const window = options.window ?? (await nextWindow(service.deps, account));
  const { signal } = new AbortController();
  const { putsBack = false } = options;
  const run = await reconcileAccount(service.deps, { account, window, actor: 'test', signal, putsBack });
  if (run === null) throw new Error('Another run of the account is under way.');
  return { run, findings: await findingsOf(service, run.id) };
}

/** What a run that has to come to its end finds about a refund or a payment. */
export async function findingsAbout(
  service: TestService,
  processor: ProcessorName,
  about: { refundId: string } | { transactionId: string },
): Promise<ReconciliationFinding[]> {
  const { run, findings } = await reconcile(service, processor);
  expect(run).toMatchObject({ failure: null, claimedUntil: null, finishedAt: expect.any(Date) });
  return findings.filter((finding) =>
    'refundId' in about ? finding.refundId === about.refundId : finding.transactionId === about.transactionId,
  );
}

async function findingsOf({ deps }: TestService, runId: string): Promise<ReconciliationFinding[]> {
  return await deps.db.reconciliationFinding.findMany({ where: { runId }, orderBy: { id: 'asc' } });
}

/** Makes the refund due, and takes every step that is due. */
export async function work(service: TestService, { id }: Pick<RefundRecord, 'id'>): Promise<RefundRecord> {
  await service.deps.db.refundWork.updateMany({
    where: { refundId: id, refund: { status: 'processing' } },
    data: { dueAt: new Date(0) },
  });
  await advanceRefund(service.deps, id);
  return await rowOf(service, id);
}

/** Takes the steps that are due by themselves, as a worker does that was woken. */
export async function workWhatIsDue(
  service: TestService,
  { id }: Pick<RefundRecord, 'id'>,
): Promise<RefundRecord> {
  await advanceRefund(service.deps, id);
  return await rowOf(service, id);
}

/** The most that a policy check says can still be refunded, in minor units. */
export async function leftToRefund(service: TestService, transactionId: string): Promise<number> {
  const { body } = await service.call('POST', '/v1/policies/check', { body: { transactionId } });
  return body.data.maxAmount;
}
