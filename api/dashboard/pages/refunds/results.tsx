import type { Refund } from '../../../../shared/db.ts';
import { isTerminal } from '../../../../shared/refunds/states.ts';
import type { Context } from '../../access.ts';
import { Badge, StatusBadge } from '../../layout/badge.tsx';
import { Live } from '../../layout/live.tsx';
import { Amount, Moment } from '../../layout/values.tsx';
import { initiatorWords, processorWord } from '../../layout/words.ts';
import { type EnteredFilter, filterQuery } from './entered-filter.ts';

/** A refund of the list, and by whom it was asked for. */
export interface ListedRefund {
  refund: Refund;
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
        <Table list={list} refunds={refunds} />
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

function Table({ list, refunds }: { list: string; refunds: readonly ListedRefund[] }) {
  return (
    <table>
      <caption class="visually-hidden">Refunds, the newest first</caption>
      <thead>
        <tr>
          <th scope="col">Refund</th>
          <th scope="col">Created</th>
          <th scope="col" class="number">
            Amount
          </th>
          <th scope="col">Status</th>
          <th scope="col">Transaction</th>
          <th scope="col">Processor</th>
          <th scope="col">Asked for by</th>
        </tr>
      </thead>
      <tbody>
        {refunds.map((listed) => (
          <Row key={listed.refund.id} list={list} {...listed} />
        ))}
      </tbody>
    </table>
  );
}

function Row({ list, refund, who }: ListedRefund & { list: string }) {
  const { id, createdAt, amount, currency, status, flaggedAt, transactionId, processor, initiatedBy } =
    refund;
  const requester = who === null ? initiatorWords[initiatedBy] : `${initiatorWords[initiatedBy]}, ${who}`;
  return (
    <tr id={`row-${id}`}>
      <th scope="row">
        <a class="row-link" href={`${list}/${id}`}>
          <code class="clipped" title={id}>
            {id}
          </code>
        </a>
      </th>
      <td>
        <Moment at={createdAt} />
      </td>
      <td class="number">
        <Amount amount={amount} currency={currency} />
      </td>
      <td class="nowrap">
        <StatusBadge status={status} />
        {flaggedAt === null ? null : (
          <>
            {' '}
            <Badge tone="warn">Flagged</Badge>
          </>
        )}
      </td>
      <td>
        <code class="clipped" title={transactionId}>
          {transactionId}
        </code>
      </td>
      <td>{processorWord(processor)}</td>
      <td>
        <span class="clipped" title={requester}>
          {requester}
        </span>
      </td>
    </tr>
  );
}
