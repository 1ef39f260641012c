import type { Database, Refund } from '../../shared/db.ts';
import { formatAmount } from '../../shared/money.ts';
import { findOrganization } from '../../shared/organizations/find-organization.ts';
import { type AccountSummary, withoutCredentials } from '../../shared/organizations/processor-accounts.ts';
import { isFlaggedForExtra } from '../../shared/refunds/flag.ts';
import { toPublicRefund } from '../../shared/refunds/refund.ts';
import { isTerminal } from '../../shared/refunds/states.ts';
import { explain, printData, printJson, printTable } from './output.ts';

/** What does not go on, or not well, without a person; the oldest first, each with the command to go on with. */
export interface Attention {
  /** Accounts whose credentials their processor refuses. */
  accounts: { account: AccountSummary; next: string }[];
  refunds: { refund: Refund; since: Date; why: string; next: string }[];
}

/** @throws ServiceError not_found for an organization that does not exist. */
export async function readAttention(db: Database, organizationId: string | undefined): Promise<Attention> {
  if (organizationId !== undefined) await findOrganization(db, organizationId);
  const owner = organizationId === undefined ? {} : { organizationId };
  const refunds = await db.refund.findMany({
    where: { ...owner, OR: [{ status: 'pending' }, { flaggedAt: { not: null } }] },
    orderBy: [{ createdAt: 'asc' }, { id: 'asc' }],
  });
  const accounts = await db.processorAccount.findMany({
    where: { ...owner, misconfiguredAt: { not: null } },
    omit: withoutCredentials,
    orderBy: [{ misconfiguredAt: 'asc' }, { id: 'asc' }],
  });
  const refused = new Set(accounts.map(placeOf));
  return {
    accounts: accounts.map((account) => ({ account, next: setCommand(account) })),
    refunds: refunds.map((refund) => ({
      refund,
      since: refund.flaggedAt ?? refund.createdAt,
      why: whyOf(refund),
      next: nextCommand(refund, refused.has(placeOf(refund))),
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

function whyOf({ status, flagReason }: Refund): string {
  return flagReason ?? (status === 'pending' ? 'It waits for approval.' : 'It was flagged.');
}

type Place = Pick<AccountSummary, 'organizationId' | 'environment' | 'processor'>;

function placeOf({ organizationId, environment, processor }: Place): string {
  return `${organizationId}/${environment}/${processor}`;
}

/**
 * What to do about a refund, `...` being for the person to fill in; the cause comes before the refund itself, because mending
 * it may be enough.
 */
function nextCommand(refund: Refund, isRefused: boolean): string {
  const { id, status } = refund;
  const isExtra = isFlaggedForExtra(refund);
  if (status === 'pending') return isExtra ? `refund reject ${id} --reason '...'` : `refund approve ${id}`;
  if (isRefused && !isExtra) return setCommand(refund);
  const decision = isExtra || isTerminal(status) ? '--keep' : '--as ...';
  return `refund resolve ${id} ${decision} --reason '...'`;
}

function setCommand({ organizationId, environment, processor }: Place): string {
  return `account set --organization ${organizationId} --environment ${environment} --processor ${processor}`;
}
