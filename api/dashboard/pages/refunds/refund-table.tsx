import { displayNameOf } from '#shared/processors/registry.ts';
import type { RefundWithWork } from '#shared/refunds/model/refund.ts';
import type { Waiting } from '#shared/refunds/model/waiting.ts';
import { Badge, StatusBadge } from '../../components/badge.tsx';
import { Link } from '../../components/button.tsx';
import { type Column, List } from '../../components/list.tsx';
import { Amount, Moment } from '../../components/values.tsx';
import { useMember } from '../../http/access.ts';
import { waitingWords } from '../../words/waiting.ts';
import { reasonWords, requesterWords } from '../../words/words.ts';
import { SelectBox } from './bulk-selection.tsx';
import { metadataColumns } from './metadata-columns.tsx';

/** A refund with what it waits for and the name of its requester. */
export interface ListedRefund {
  refund: RefundWithWork;
  waiting: Waiting | null;
  requester: string | null;
}

interface RefundTableProps {
  refunds: readonly ListedRefund[];
  caption: string;
  /** Boxes on the refunds that can be decided; null for none. */
  boxes: { areChecked: boolean } | null;
}

/** Refunds as rows that lead to their pages. */
export function RefundTable({ refunds, caption, boxes }: RefundTableProps) {
  const { refundColumns } = useMember().organization;
  return (
    <List
      caption={caption}
      isCompact
      items={refunds}
      rowId={({ refund }) => `row-${refund.id}`}
      columns={[...columnsOf(boxes), ...metadataColumns(refunds, refundColumns), ...lastColumns]}
    />
  );
}

function columnsOf(boxes: RefundTableProps['boxes']): readonly Column<ListedRefund>[] {
  return [
    [
      'Refund',
      ({ refund, refund: { id, processor, transactionId } }) => (
        <>
          {boxes === null ? null : <SelectBox refund={refund} isChecked={boxes.areChecked} />}
          <Link class="row-link" to={`/refunds/${id}`}>
            <code class="clipped" title={id}>
              {id}
            </code>
          </Link>
          <span class="clipped small muted" title={transactionId}>
            {displayNameOf(processor)} {transactionId}
          </span>
        </>
      ),
    ],
    [
      'Amount',
      ({ refund: { amount, currency, reason } }) => (
        <span>
          <Amount amount={amount} currency={currency} />
          <span class="detail small muted">{reasonWords[reason]}</span>
        </span>
      ),
      'number',
    ],
    [
      'Status',
      ({ refund: { status, work, processor }, waiting }) => (
        <span>
          <span class="row">
            <StatusBadge status={status} />
            {work?.flaggedAt == null ? null : <Badge tone="warn">Flagged</Badge>}
          </span>
          {status !== 'processing' || waiting === null ? null : (
            <span class="detail small muted">{waitingWords(waiting.reason, processor)}</span>
          )}
        </span>
      ),
    ],
  ];
}

const lastColumns: readonly Column<ListedRefund>[] = [
  [
    'Created',
    ({ refund: { createdAt, initiatedBy }, requester }) => (
      <span>
        <Moment at={createdAt} />
        <span class="detail small muted">{requesterWords(initiatedBy, requester)}</span>
      </span>
    ),
  ],
];
