import type { ComponentChildren } from 'preact';
import type { AttentionCount, NeedsAttention } from '#shared/insights/needs-attention.ts';
import { mayAct } from '#shared/people/roles.ts';
import type { Context } from '../../http/access.ts';
import { Card } from '../../layout/card.tsx';
import { type Column, Table, type TableRow } from '../../layout/table.tsx';
import { accountTrouble, workersTrouble } from '../../layout/trouble.ts';
import { Amount, Moment } from '../../layout/values.tsx';
import { processorWord } from '../../layout/words.ts';

interface CardProps {
  context: Context;
  needsAttention: NeedsAttention;
}

const columns: readonly Column[] = [
  { title: 'Item' },
  { title: 'Count', kind: 'number' },
  { title: 'Oldest' },
  { title: 'Amount', kind: 'number' },
  { title: 'Action', kind: 'actions' },
];

/** Lists what needs attention, each with an action; renders nothing if the list is empty. */
export function NeedsAttentionCard({ context, needsAttention }: CardProps) {
  const {
    now,
    workers,
    unansweredAccounts,
    approvals,
    flagged,
    refusedAccounts,
    failedReconciliations,
    disabledEndpoints,
  } = needsAttention;
  const accounts = `${context.base}/settings/accounts`;
  const health = mayAct(context.role, 'operator') ? action(`${context.base}/health`, 'View health') : null;
  const noWorker = workersTrouble(workers, now);
  const rows = [
    ...(noWorker === null ? [] : [accountRow('workers', noWorker, workers.seenAt, health)]),
    ...unansweredAccounts.map((account) =>
      accountRow(`${account.processor} unanswered`, accountTrouble(account, now), account.since, health),
    ),
    ...refundRow('Awaiting approval', approvals, action(`${context.base}/refunds?status=pending`, 'Review')),
    ...refundRow(
      'Flagged refunds',
      flagged,
      action(`${context.base}/refunds?needsAttention=true`, 'Resolve'),
    ),
    ...refusedAccounts.map(({ id, processor, misconfiguredAt }) =>
      accountRow(
        id,
        `${processorWord(processor)} rejected the credentials`,
        misconfiguredAt,
        action(accounts, 'Set credentials'),
      ),
    ),
    ...failedReconciliations.map(({ processor, failure, since }) =>
      accountRow(
        `${processor} reconciliation`,
        <>
          {processorWord(processor)} reconciliation failed <p class="small muted">{failure}</p>
        </>,
        since,
        action(accounts, 'Check account'),
      ),
    ),
    ...disabledEndpoints.map(({ id, url, disabledReason, updatedAt }) =>
      accountRow(
        id,
        <>
          {disabledReason === 'gone'
            ? 'Webhook endpoint disabled: it replied 410 Gone'
            : 'Webhook endpoint disabled: it has not accepted an event for five days'}{' '}
          <p class="small muted">{url}</p>
        </>,
        updatedAt,
        'Repair the endpoint, then enable it with the API',
      ),
    ),
  ];
  if (rows.length === 0) return null;
  return (
    <Card id="needs-attention" title="Needs attention">
      <Table caption="Items that need attention" columns={columns} rows={rows} />
    </Card>
  );
}

function refundRow(
  title: string,
  { count, atLeast, oldest, amounts }: AttentionCount,
  link: ComponentChildren,
): TableRow[] {
  if (count === 0 || oldest === null) return [];
  const more = atLeast ? '+' : '';
  const sums = amounts.map(({ currency, amount }) => (
    <div key={currency}>
      <Amount amount={amount} currency={currency} />
      {more}
    </div>
  ));
  return [{ key: title, cells: [title, `${count}${more}`, <Moment key="oldest" at={oldest} />, sums, link] }];
}

function accountRow(
  key: string,
  title: ComponentChildren,
  since: Date | null,
  link: ComponentChildren,
): TableRow {
  return { key, cells: [title, '1', since === null ? null : <Moment key="since" at={since} />, null, link] };
}

function action(href: string, label: string) {
  return <a href={href}>{label}</a>;
}
