import type { RefundWithWork } from '#shared/refunds/model/refund.ts';
import { Badge, StatusBadge } from '../../components/badge.tsx';
import { Link } from '../../components/button.tsx';
import { type Column, List } from '../../components/list.tsx';
import { Amount, Moment } from '../../components/values.tsx';
import { useMember } from '../../http/access.ts';
import { initiatorWords, processorWord, reasonWords } from '../../words/words.ts';
import { SelectBox } from './bulk-selection.tsx';
import { metadataColumns } from './metadata-columns.tsx';

/** A refund with the name of its requester. */
export interface ListedRefund {
  refund: RefundWithWork;
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
            {processorWord(processor)} {transactionId}
          </span>
        </>
      ),
    ],
    ['Amount', ({ refund }) => <Amount amount={refund.amount} currency={refund.currency} />, 'number'],
    [
      'Status',
      ({ refund: { status, work } }) => (
        <span class="row">
          <StatusBadge status={status} />
          {work?.flaggedAt == null ? null : <Badge tone="warn">Flagged</Badge>}
        </span>
      ),
    ],
    ['Reason', ({ refund }) => reasonWords[refund.reason]],
  ];
}

const lastColumns: readonly Column<ListedRefund>[] = [
  [
    'Requested by',
    (listed) => (
      <span class="clipped" title={requestedBy(listed)}>
        {requestedBy(listed)}
      </span>
    ),
  ],
  ['Created', ({ refund }) => <Moment at={refund.createdAt} />],
];

function requestedBy({ refund, requester }: ListedRefund): string {
  const source = initiatorWords[refund.initiatedBy];
  return requester === null ? source : `${source}, ${requester}`;
}
