import { displayNameOf } from '#shared/processors/registry.ts';
import type { RefundWithWork } from '#shared/refunds/model/refund.ts';
import type { Waiting } from '#shared/refunds/model/waiting.ts';
import { Badge, StatusBadge } from '../../components/badge.tsx';
import { Link } from '../../components/button.tsx';
import { type Column, List } from '../../components/list.tsx';
import { Amount, Moment, ShortId } from '../../components/values.tsx';
import { useMember } from '../../http/access.ts';
import { waitingWords } from '../../words/waiting.ts';
import { initiatorWords, reasonWords, requesterWords } from '../../words/words.ts';
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
      columns={[amountColumn(boxes), ...metadataColumns(refunds, refundColumns), ...otherColumns]}
    />
  );
}

/** The amount, which leads to the refund, and why it was requested. */
function amountColumn(boxes: RefundTableProps['boxes']): Column<ListedRefund> {
  return [
    'Amount',
    ({ refund, refund: { id, amount, currency, reason } }) => (
      <>
        {boxes === null ? null : <SelectBox refund={refund} isChecked={boxes.areChecked} />}
        <Link class="row-link" to={`/refunds/${id}`}>
          <Amount amount={amount} currency={currency} />
        </Link>
        <span class="detail small muted">{reasonWords[reason]}</span>
      </>
    ),
  ];
}

const otherColumns: readonly Column<ListedRefund>[] = [
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
  [
    'Requested',
    ({ refund: { createdAt, initiatedBy }, requester }) => (
      <span>
        <Moment at={createdAt} />
        <bdi class="detail small muted" title={requesterWords(initiatedBy, requester)}>
          {requester ?? initiatorWords[initiatedBy]}
        </bdi>
      </span>
    ),
  ],
  [
    'IDs',
    ({ refund: { id, processor, transactionId } }) => (
      <span>
        <ShortId id={id} />
        <span class="detail small muted">
          {displayNameOf(processor)} <ShortId id={transactionId} />
        </span>
      </span>
    ),
  ],
];
