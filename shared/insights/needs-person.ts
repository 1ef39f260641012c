import type { Database, Prisma } from '../platform/database.ts';
import type { Environment } from '../platform/environment.ts';
import { withoutCredentials } from '../processors/accounts/connections.ts';
import type { AccountSummary } from '../processors/accounts/manage-accounts.ts';
import type { RefundOwner, RefundWithWork } from '../refunds/model/refund.ts';
import { capped } from '../refunds/queries/search-refunds.ts';
import { type ReconciliationTrouble, readReconciliationTrouble } from './reconciliation-trouble.ts';
import { itemsShown, type Waiting } from './waiting.ts';

/** Whose things are meant; what is left out is everybody's. */
export interface PersonScope {
  organizationId?: string;
  environment?: Environment;
}

/** A refund that waits for a person. */
export interface WaitingRefund {
  refund: RefundWithWork;
  /** Since when it waits. */
  since: Date;
  /** What for, as a sentence. */
  why: string;
}

/** What a person has to look at first, in one organization and environment. */
export interface NeedsPerson extends ReconciliationTrouble {
  approvals: Waiting<WaitingRefund>;
  /** A refund may be among these and wait for approval as well. */
  flagged: Waiting<WaitingRefund>;
  refusedAccounts: Waiting<AccountSummary>;
}

/** Where counting ends. */
const countCap = 1_000;

/** Reads what needs a person. The cost does not depend on how many refunds there are. */
export async function readNeedsPerson(db: Database, owner: RefundOwner): Promise<NeedsPerson> {
  const { organizationId, environment } = owner;
  const scope = { organizationId, environment };
  const [approvalCount, flagCount, approvals, flagged, accounts, trouble] = await Promise.all([
    db.refund.count({ where: awaitingApproval(scope), take: countCap + 1 }),
    db.refundWork.count({ where: isFlagged(scope), take: countCap + 1 }),
    findAwaitingApproval(db, scope, itemsShown),
    findFlagged(db, scope, itemsShown),
    findRefusedAccounts(db, scope),
    readReconciliationTrouble(db, owner),
  ]);
  return {
    approvals: {
      ...capped(approvalCount, countCap),
      oldest: approvals[0]?.refund.createdAt ?? null,
      items: approvals,
    },
    flagged: { ...capped(flagCount, countCap), oldest: flagged[0]?.since ?? null, items: flagged },
    refusedAccounts: {
      count: accounts.length,
      atLeast: false,
      oldest: accounts[0]?.misconfiguredAt ?? null,
      items: accounts,
    },
    ...trouble,
  };
}

/** Refunds that wait for approval, the oldest first; all of them unless a limit is given. */
export async function findAwaitingApproval(
  db: Database,
  scope: PersonScope,
  limit?: number,
): Promise<WaitingRefund[]> {
  const refunds = await db.refund.findMany({
    where: awaitingApproval(scope),
    orderBy: [{ createdAt: 'asc' }, { id: 'asc' }],
    include: { work: true },
    ...(limit === undefined ? {} : { take: limit }),
  });
  return refunds.map(waiting);
}

/** Refunds that are flagged, those that have been for longest first; all of them unless a limit is given. */
export async function findFlagged(
  db: Database,
  scope: PersonScope,
  limit?: number,
): Promise<WaitingRefund[]> {
  const flagged = await db.refundWork.findMany({
    where: isFlagged(scope),
    orderBy: [{ flaggedAt: 'asc' }, { refundId: 'asc' }],
    include: { refund: true },
    ...(limit === undefined ? {} : { take: limit }),
  });
  return flagged.map(({ refund, ...work }) => waiting({ ...refund, work }));
}

/** Accounts whose credentials their processor refuses, the oldest trouble first. */
export async function findRefusedAccounts(db: Database, scope: PersonScope): Promise<AccountSummary[]> {
  return await db.processorAccount.findMany({
    where: { ...scope, misconfiguredAt: { not: null } },
    omit: withoutCredentials,
    orderBy: [{ misconfiguredAt: 'asc' }, { id: 'asc' }],
  });
}

function awaitingApproval(scope: PersonScope): Prisma.RefundWhereInput {
  return { ...scope, status: 'pending' };
}

function isFlagged(scope: PersonScope): Prisma.RefundWorkWhereInput {
  return { ...scope, flaggedAt: { not: null } };
}

function waiting(refund: RefundWithWork): WaitingRefund {
  const { status, createdAt } = refund;
  const { flaggedAt = null, flagReason = null } = refund.work ?? {};
  const why = flagReason ?? (status === 'pending' ? 'It waits for approval.' : 'It was flagged.');
  return { refund, since: flaggedAt ?? createdAt, why };
}
