import type { Refund } from '#shared/platform/database.ts';
import type { Column } from '../../components/list.tsx';

/** The keys under which metadata often has an order and a customer. */
const usualKeys = [
  { title: 'Order', keys: ['order_id', 'orderId', 'order'] },
  { title: 'Customer', keys: ['customer_id', 'customerId', 'customer'] },
];

/**
 * The columns of metadata in a list of refunds.
 * @param named the keys that the organization chose; if none, those of the usual keys that any of the refunds has.
 */
export function metadataColumns<Item extends { refund: Pick<Refund, 'metadata'> | null }>(
  items: readonly Item[],
  named: readonly string[],
): Column<Item>[] {
  const isUsed = (keys: readonly string[]) =>
    items.some(({ refund }) => metadataText(refund?.metadata, keys) !== null);
  const columns = namedColumns(named);
  const shown = named.length > 0 ? columns : columns.filter(({ keys }) => isUsed(keys));
  return shown.map(({ title, keys }) => [
    title,
    ({ refund }) => <MetadataValue value={metadataText(refund?.metadata, keys)} />,
    'named',
  ]);
}

/** What is shown of metadata: the keys that the organization chose, each with itself as its title, or else the usual ones. */
export function namedColumns(
  named: readonly string[],
): readonly { title: string; keys: readonly string[] }[] {
  return named.length > 0 ? named.map((key) => ({ title: key, keys: [key] })) : usualKeys;
}

function MetadataValue({ value }: { value: string | null }) {
  if (value === null) return null;
  return (
    <span class="clipped" title={value}>
      {value}
    </span>
  );
}

/** The first text, number or boolean of the first level under one of the keys; null for none. */
export function metadataText(metadata: unknown, keys: readonly string[]): string | null {
  const own = (metadata ?? {}) as Record<string, unknown>;
  for (const key of keys) {
    const value = Object.hasOwn(own, key) ? own[key] : undefined;
    if (['string', 'number', 'boolean'].includes(typeof value)) return String(value);
  }
  return null;
}
