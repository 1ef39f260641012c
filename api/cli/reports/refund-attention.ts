import {
  findAwaitingApproval,
  findFlagged,
  findRefusedAccounts,
  type WaitingRefund,
} from '../../../shared/insights/needs-person.ts';
import { formatAmount } from '../../../shared/money/money.ts';
import type { Database } from '../../../shared/platform/database.ts';
import { findOrganization } from '../../../shared/platform/organization.ts';
import type { AccountSummary } from '../../../shared/processors/accounts/manage-accounts.ts';
import {
  isFlaggedForExtra,
  type RefundWithWork,
  toPublicRefund,
} from '../../../shared/refunds/model/refund.ts';
import { isTerminal } from '../../../shared/refunds/model/states.ts';
import { explain, printData, printJson, printTable } from '../console/output.ts';

/** What does not go on, or not well, without a person; the oldest first, each with the command to go on with. */
export interface Attention {
  /** Accounts whose credentials their processor refuses. */
  accounts: { account: AccountSummary; next: string }[];
  refunds: (WaitingRefund & { next: string })[];
}

/** @throws ServiceError not_found for an organization that does not exist. */
export async function readAttention(db: Database, organizationId: string | undefined): Promise<Attention> {
  if (organizationId !== undefined) await findOrganization(db, organizationId);
  const owner = organizationId === undefined ? {} : { organizationId };
  const [accounts, approvals, flagged] = await Promise.all([
    findRefusedAccounts(db, owner),
    findAwaitingApproval(db, owner),
    findFlagged(db, owner),
  ]);
  const refused = new Set(accounts.map(placeOf));
  return {
    accounts: accounts.map((account) => ({ account, next: setCommand(account) })),
    refunds: oldestFirst([...approvals, ...flagged]).map((waiting) => ({
      ...waiting,
      next: nextCommand(waiting.refund, refused.has(placeOf(waiting.refund))),
    })),
  };
}

/** Shows what needs a person, accounts first, because mending one may mend its refunds. */
export async function listAttention(
  db: Database,
  organizationId: string | undefined,
  json: boolean,
): Promise<void> {
  const { accounts, refunds } = await readAttention(db, organizationId);
  if (json) {
    const shown = refunds.map(({ refund, ...item }) => ({
      refund: toPublicRefund(refund),
      environment: refund.environment,
      ...item,
    }));
    return printJson({ accounts, refunds: shown });
  }
  if (accounts.length > 0) printAccounts(accounts);
  if (accounts.length > 0 && refunds.length > 0) printData('');
  if (refunds.length > 0) printRefunds(refunds);
  if (accounts.length + refunds.length === 0) explain('Nothing needs a person.');
}

function printAccounts(accounts: Attention['accounts']): void {
  printTable(
    ['ACCOUNT', 'ORGANIZATION', 'ENVIRONMENT', 'PROCESSOR', 'REFUSED SINCE', 'NEXT'],
    accounts.map(({ account, next }) => [
      account.id,
      account.organizationId,
      account.environment,
      account.processor,
      account.misconfiguredAt,
      next,
    ]),
  );
}

function printRefunds(refunds: Attention['refunds']): void {
  printTable(
    ['ID', 'ORGANIZATION', 'ENVIRONMENT', 'STATUS', 'AMOUNT', 'PROCESSOR', 'SINCE', 'WHY', 'NEXT'],
    refunds.map(({ refund, since, why, next }) => [
      refund.id,
      refund.organizationId,
      refund.environment,
      refund.status,
      formatAmount(refund.amount, refund.currency),
      refund.processor,
      since,
      why,
      next,
    ]),
  );
}

/** By their creation, each once: one that waits for approval may be flagged as well. */
function oldestFirst(waiting: readonly WaitingRefund[]): WaitingRefund[] {
  const once = new Map(waiting.map((item) => [item.refund.id, item]));
  return [...once.values()].sort(
    ({ refund: a }, { refund: b }) => a.createdAt.getTime() - b.createdAt.getTime() || (a.id < b.id ? -1 : 1),
  );
}

type Place = Pick<AccountSummary, 'organizationId' | 'environment' | 'processor'>;

function placeOf({ organizationId, environment, processor }: Place): string {
  return `${organizationId}/${environment}/${processor}`;
}

/**
 * What to do about a refund, `...` being for the person to fill in; the cause comes before the refund itself, because mending
 * it may be enough.
 */
function nextCommand(refund: RefundWithWork, isRefused: boolean): string {
  const { id, status } = refund;
  const isExtra = isFlaggedForExtra(refund.work);
  if (status === 'pending') return isExtra ? `refund reject ${id} --reason '...'` : `refund approve ${id}`;
  if (isRefused && !isExtra) return setCommand(refund);
  const decision = isExtra || isTerminal(status) ? '--keep' : '--as ...';
  return `refund resolve ${id} ${decision} --reason '...'`;
}

function setCommand({ organizationId, environment, processor }: Place): string {
  return `account set --organization ${organizationId} --environment ${environment} --processor ${processor}`;
}
