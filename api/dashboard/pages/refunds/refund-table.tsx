import type { RefundWithWork } from '#shared/refunds/model/refund.ts';
import { Badge, StatusBadge } from '../../components/badge.tsx';
import { Link } from '../../components/button.tsx';
import { type Column, List } from '../../components/list.tsx';
import { Amount, Moment } from '../../components/values.tsx';
import { initiatorWords, processorWord, reasonWords } from '../../words/words.ts';
import { SelectBox } from './bulk-selection.tsx';

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
  return (
    <List
      caption={caption}
      items={refunds}
      rowId={({ refund }) => `row-${refund.id}`}
      columns={[...columnsOf(boxes), ...metadataColumns(refunds), ...lastColumns]}
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

/** The keys under which metadata often has an order and a customer. */
const usualKeys = [
  { title: 'Order', keys: ['order_id', 'orderId', 'order'] },
  { title: 'Customer', keys: ['customer_id', 'customerId', 'customer'] },
] as const;

/** A column for each of the usual keys that any of the refunds has. */
function metadataColumns(refunds: readonly ListedRefund[]): readonly Column<ListedRefund>[] {
  return usualKeys.flatMap(({ title, keys }): Column<ListedRefund>[] => {
    const of = ({ refund: { metadata } }: ListedRefund) => valueIn(metadata, keys);
    if (!refunds.some((listed) => of(listed) !== null)) return [];
    return [[title, (listed) => <MetadataValue value={of(listed)} />]];
  });
}

function MetadataValue({ value }: { value: string | null }) {
  if (value === null) return null;
  return (
    <span class="clipped" title={value}>
      {value}
    </span>
  );
}

/** The first text or number of the first level under one of the keys. */
function valueIn(metadata: unknown, keys: readonly string[]): string | null {
  const own = (metadata ?? {}) as Record<string, unknown>;
  for (const key of keys) {
    const value = Object.hasOwn(own, key) ? own[key] : undefined;
    if (typeof value === 'string' || typeof value === 'number') return String(value);
  }
  return null;
}

function requestedBy({ refund, requester }: ListedRefund): string {
  const source = initiatorWords[refund.initiatedBy];
  return requester === null ? source : `${source}, ${requester}`;
}
