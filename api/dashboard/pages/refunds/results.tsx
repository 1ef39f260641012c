import type { RefundWithWork } from '../../../../shared/refunds/model/refund.ts';
import { isTerminal } from '../../../../shared/refunds/model/states.ts';
import type { Context } from '../../http/access.ts';
import { Badge, StatusBadge } from '../../layout/badge.tsx';
import { Live } from '../../layout/live.tsx';
import { type Column, Table, type TableRow } from '../../layout/table.tsx';
import { Amount, Moment } from '../../layout/values.tsx';
import { initiatorWords, processorWord } from '../../layout/words.ts';
import { type EnteredFilter, filterQuery } from './entered-filter.ts';

/** A refund of the list, and by whom it was asked for. */
export interface ListedRefund {
  refund: RefundWithWork;
  who: string | null;
}

/** A page of the list; the cursors lead to its neighbours, null where there is none. */
export interface Results {
  refunds: readonly ListedRefund[];
  /** The cursor of this page; null for the first one. */
  cursor: string | null;
  next: string | null;
  previous: string | null;
}

export interface ResultsPartProps {
  context: Context;
  entered: EnteredFilter;
  results: Results;
}

/** The table with the ways to older and newer refunds; it refreshes itself while something in it is under way. */
export function ResultsPart({ context, entered, results }: ResultsPartProps) {
  const { refunds, cursor, next, previous } = results;
  const isMoving = refunds.some(({ refund }) => !isTerminal(refund.status));
  const at = cursor === null ? {} : { cursor };
  const list = `${context.base}/refunds`;
  return (
    <Live id="results" from={`${list}/results${filterQuery(entered, at)}`} everySeconds={isMoving ? 4 : null}>
      <div class="card card-flush table-scroll">
        <Table
          caption="Refunds, the newest first"
          columns={columns}
          narrow="lines"
          rows={refunds.map((listed) => rowOf(list, listed))}
        />
      </div>
      <nav class="row pager" aria-label="Pages">
        <Step to={previous && `${list}${filterQuery(entered, { cursor: previous })}`}>Newer</Step>
        <Step to={next && `${list}${filterQuery(entered, { cursor: next })}`}>Older</Step>
        {cursor === null ? null : <a href={`${list}${filterQuery(entered)}`}>To the newest</a>}
      </nav>
    </Live>
  );
}

function Step({ to, children }: { to: string | null; children: string }) {
  return to === null ? null : (
    <a class="button" href={to}>
      {children}
    </a>
  );
}

const columns: readonly Column[] = [
  { title: 'Refund' },
  { title: 'Created' },
  { title: 'Amount', kind: 'number' },
  { title: 'Status' },
  { title: 'Transaction' },
  { title: 'Processor', kind: 'further' },
  { title: 'Asked for by', kind: 'further' },
];

function rowOf(list: string, { refund, who }: ListedRefund): TableRow {
  const { id, createdAt, amount, currency, status, work, transactionId, processor, initiatedBy } = refund;
  const requester = who === null ? initiatorWords[initiatedBy] : `${initiatorWords[initiatedBy]}, ${who}`;
  return {
    key: id,
    id: `row-${id}`,
    cells: [
      <a class="row-link" href={`${list}/${id}`} key="refund">
        <code class="clipped" title={id}>
          {id}
        </code>
      </a>,
      <Moment at={createdAt} key="created" />,
      <Amount amount={amount} currency={currency} key="amount" />,
      <span class="row" key="status">
        <StatusBadge status={status} />
        {work?.flaggedAt == null ? null : <Badge tone="warn">Flagged</Badge>}
      </span>,
      <code class="clipped" title={transactionId} key="transaction">
        {transactionId}
      </code>,
      processorWord(processor),
      <span class="clipped" title={requester} key="requester">
        {requester}
      </span>,
    ],
  };
}
