import { type DisputedPayment, findDisputedPayments } from '#shared/insights/disputed-payments.ts';
import { findRefundsNeedingAttention, findRefusedAccounts } from '#shared/insights/needs-attention.ts';
import { formatAmount } from '#shared/money/money.ts';
import type { Database } from '#shared/platform/database.ts';
import { findOrganization } from '#shared/platform/organization.ts';
import { refusalsOf } from '#shared/processors/accounts/ability-wording.ts';
import type { AccountSummary } from '#shared/processors/accounts/manage-accounts.ts';
import { displayNameOf } from '#shared/processors/registry.ts';
import { wordsFor } from '#shared/refunds/model/flag-wording.ts';
import { type Flag, flagOf } from '#shared/refunds/model/flags.ts';
import { type RefundWithWork, toPublicRefund } from '#shared/refunds/model/refund.ts';
import { isTerminal } from '#shared/refunds/model/states.ts';
import { type Columns, explain, printData, printJson, printTable } from '../console/output.ts';

/** What needs attention, the oldest first, each with the command or step to continue with. */
interface Attention {
  /** Accounts of which an ability is refused, or all. */
  accounts: { account: AccountSummary; next: string }[];
  payments: DisputedPayment[];
  refunds: AttentionItem[];
}

interface AttentionItem {
  refund: RefundWithWork;
  since: Date;
  /** Null for a refund that awaits approval and is not flagged. */
  flag: Flag | null;
  why: string;
  next: string;
}

/** @throws ServiceError not_found for an organization that does not exist. */
export async function readAttention(db: Database, organizationId: string | undefined): Promise<Attention> {
  if (organizationId !== undefined) await findOrganization(db, organizationId);
  const scope = organizationId === undefined ? {} : { organizationId };
  const [accounts, payments, refunds] = await Promise.all([
    findRefusedAccounts(db, scope),
    findDisputedPayments(db, scope),
    findRefundsNeedingAttention(db, scope),
  ]);
  // Refunds do not need webhooks.
  const refused = new Map(
    accounts
      .filter((account) => refusalsOf(account).some((each) => each !== 'webhooks'))
      .map((account) => [account.id, accountCommand(account)]),
  );
  return {
    accounts: accounts.map((account) => ({ account, next: accountCommand(account) })),
    payments,
    refunds: refunds.map((refund) => itemOf(refund, refused.get(refund.accountId))),
  };
}

/** @param fix the command for an account that is refused. */
function itemOf(refund: RefundWithWork, fix: string | undefined): AttentionItem {
  const flag = flagOf(refund.work);
  const why =
    flag === null ? 'Awaiting approval.' : wordsFor(flag.reason, flag.facts, refund.processor).summary;
  const since = refund.work?.flaggedAt ?? refund.createdAt;
  return { refund, since, flag, why, next: nextCommand(refund, flag, fix) };
}

/** Shows what needs attention, accounts first: fixing one may be enough for its refunds. */
export async function listAttention(
  db: Database,
  organizationId: string | undefined,
  json: boolean | undefined,
): Promise<void> {
  const { accounts, payments, refunds } = await readAttention(db, organizationId);
  if (json) {
    const shown = refunds.map(({ refund, ...item }) => ({
      refund: toPublicRefund(refund),
      environment: refund.environment,
      ...item,
    }));
    const disputed = payments.map((payment) => ({ ...payment, amount: Number(payment.amount) }));
    return printJson({ accounts, payments: disputed, refunds: shown });
  }
  const tables = [
    ...(accounts.length === 0 ? [] : [() => printTable(accounts, accountColumns)]),
    ...(payments.length === 0 ? [] : [() => printTable(payments, paymentColumns)]),
    ...(refunds.length === 0 ? [] : [() => printTable(refunds, refundColumns)]),
  ];
  for (const [index, print] of tables.entries()) {
    if (index > 0) printData('');
    print();
  }
  if (tables.length === 0) explain('Nothing needs attention.');
}

const accountColumns: Columns<Attention['accounts'][number]> = {
  ACCOUNT: ({ account }) => account.id,
  ORGANIZATION: ({ account }) => account.organizationId,
  ENVIRONMENT: ({ account }) => account.environment,
  PROCESSOR: ({ account }) => account.processor,
  NAME: ({ account }) => account.name,
  REFUSED: ({ account }) => refusalsOf(account).join(', '),
  'REFUSED SINCE': ({ account }) => account.misconfiguredAt,
  NEXT: ({ next }) => next,
};

const paymentColumns: Columns<DisputedPayment> = {
  'DISPUTED PAYMENT': ({ transactionId }) => transactionId,
  ORGANIZATION: ({ organizationId }) => organizationId,
  ENVIRONMENT: ({ environment }) => environment,
  PROCESSOR: ({ processor }) => processor,
  SINCE: ({ since }) => since,
  'OPEN REFUNDS': ({ count }) => count,
  AMOUNT: ({ amount, currency }) => formatAmount(amount, currency),
  NEXT: () => 'respond to the dispute at the processor',
};

const refundColumns: Columns<AttentionItem> = {
  ID: ({ refund }) => refund.id,
  ORGANIZATION: ({ refund }) => refund.organizationId,
  ENVIRONMENT: ({ refund }) => refund.environment,
  STATUS: ({ refund }) => refund.status,
  AMOUNT: ({ refund }) => formatAmount(refund.amount, refund.currency),
  PROCESSOR: ({ refund }) => refund.processor,
  SINCE: ({ since }) => since,
  WHY: ({ why }) => why,
  NEXT: ({ next }) => next,
};

/** The command or step to continue with; `...` is to be filled in. Fixing a refused account comes first, as it may be enough. */
function nextCommand(
  { id, status, processor }: RefundWithWork,
  flag: Flag | null,
  fix: string | undefined,
): string {
  const isExtra = flag?.reason === 'extra_refund';
  if (flag?.reason === 'insufficient_balance') return `add funds at ${displayNameOf(processor)}`;
  if (status === 'pending') return `${isExtra ? 'reject' : 'approve or reject'} it in the dashboard`;
  if (fix !== undefined && !isExtra) return fix;
  const decision = isExtra || isTerminal(status) ? '--dismiss' : '--as ...';
  return `refund resolve ${id} ${decision} --reason '...'`;
}

/** A missing permission is seen by a check, and may be added at the processor; refused credentials are replaced. */
function accountCommand(account: AccountSummary): string {
  const { organizationId, environment, processor, name, isDefault } = account;
  // A connected account has the credentials of its parent, whose name its own begins with.
  const named = isDefault ? '' : ` --name ${name.split('/')[0]}`;
  const command = refusalsOf(account)[0] === 'credentials' ? 'set' : 'check';
  return `account ${command} --organization ${organizationId} --environment ${environment} --processor ${processor}${named}`;
}
