import type { Database, Refund } from '../../shared/db.ts';
import { formatAmount } from '../../shared/money.ts';
import { findOrganization } from '../../shared/organizations/find-organization.ts';
import { type AccountSummary, withoutCredentials } from '../../shared/organizations/processor-accounts.ts';
import { toPublicRefund } from '../../shared/refunds/refund.ts';
import { isTerminal } from '../../shared/refunds/states.ts';
import { explain, printData, printJson, printTable } from './output.ts';

/** Lists what does not go on, or not well, without a person: refunds, and accounts that their processor refuses. */
export async function listAttention(
  db: Database,
  organizationId: string | undefined,
  json: boolean,
): Promise<void> {
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
  const nextFor = (refund: Refund) => nextCommand(refund, refused.has(placeOf(refund)));
  if (json) {
    return printJson({
      accounts: accounts.map((account) => ({ ...account, next: setCommand(account) })),
      refunds: refunds.map((refund) => ({ ...toJson(refund), next: nextFor(refund) })),
    });
  }
  if (accounts.length > 0) printAccounts(accounts);
  if (accounts.length > 0 && refunds.length > 0) printData('');
  if (refunds.length > 0) printRefunds(refunds, nextFor);
  if (accounts.length + refunds.length === 0) explain('Nothing needs a person.');
}

function printAccounts(accounts: readonly AccountSummary[]): void {
  printTable(
    ['ACCOUNT', 'ORGANIZATION', 'ENVIRONMENT', 'PROCESSOR', 'REFUSED SINCE', 'NEXT'],
    accounts.map((account) => [
      account.id,
      account.organizationId,
      account.environment,
      account.processor,
      account.misconfiguredAt,
      setCommand(account),
    ]),
  );
}

function printRefunds(refunds: readonly Refund[], nextFor: (refund: Refund) => string): void {
  printTable(
    ['ID', 'ORGANIZATION', 'ENVIRONMENT', 'STATUS', 'AMOUNT', 'PROCESSOR', 'SINCE', 'WHY', 'NEXT'],
    refunds.map((refund) => [
      refund.id,
      refund.organizationId,
      refund.environment,
      refund.status,
      formatAmount(refund.amount, refund.currency),
      refund.processor,
      sinceOf(refund),
      whyOf(refund),
      nextFor(refund),
    ]),
  );
}

function toJson(refund: Refund) {
  return {
    refund: toPublicRefund(refund),
    environment: refund.environment,
    since: sinceOf(refund),
    why: whyOf(refund),
  };
}

function sinceOf({ flaggedAt, createdAt }: Refund): Date {
  return flaggedAt ?? createdAt;
}

function whyOf({ status, flagReason }: Refund): string {
  return status === 'pending' ? 'It waits for approval.' : (flagReason ?? 'It was flagged.');
}

type Place = Pick<AccountSummary, 'organizationId' | 'environment' | 'processor'>;

function placeOf({ organizationId, environment, processor }: Place): string {
  return `${organizationId}/${environment}/${processor}`;
}

/** What to do about a refund; the cause comes before the refund itself, because mending it may be enough. */
function nextCommand(refund: Refund, isRefused: boolean): string {
  const { id, status } = refund;
  if (status === 'pending') return `refund approve ${id}`;
  if (isRefused) return setCommand(refund);
  return isTerminal(status) ? `refund resolve ${id} --keep` : `refund resolve ${id} --as ...`;
}

function setCommand({ organizationId, environment, processor }: Place): string {
  return `account set --organization ${organizationId} --environment ${environment} --processor ${processor}`;
}
