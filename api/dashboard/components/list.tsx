import type { ComponentChildren } from 'preact';
import { ButtonLink } from './button.tsx';

/** Numbers are right-aligned, `actions` has a hidden title, and `named` keeps its title in a compact list. */
type ColumnKind = 'number' | 'actions' | 'named';

/** A column: its title, and what it shows of an item. The first column names the row; a `row-link` in it makes the row a link. */
export type Column<Item> = readonly [title: string, of: (item: Item) => ComponentChildren, kind?: ColumnKind];

interface ListProps<Item> {
  /** For screen readers. */
  caption: string;
  columns: readonly Column<Item>[];
  items: readonly Item[];
  /** The id of an item's row, for links to it. */
  rowId?: (item: Item) => string;
  /** True inside of a card; otherwise the list is a card of its own. */
  isInCard?: boolean;
  /** True for cells that need no titles: on narrow screens they fill lines instead of having one each. */
  isCompact?: boolean;
}

/** A table whose rows become cards on narrow screens. */
export function List<Item>({ caption, columns, items, rowId, isInCard, isCompact }: ListProps<Item>) {
  return (
    <div class={isInCard ? 'table-scroll' : 'card card-flush table-scroll'}>
      <table data-narrow={isCompact ? 'compact' : ''}>
        <caption class="visually-hidden">{caption}</caption>
        <thead>
          <tr>
            {columns.map(([title, , kind]) => (
              <th key={title} scope="col" class={kind}>
                {kind === 'actions' ? <span class="visually-hidden">{title}</span> : title}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {items.map((item, index) => (
            <tr id={rowId?.(item)} key={rowId?.(item) ?? index}>
              {columns.map((column, at) => (
                <Cell key={column[0]} column={column} item={item} isName={at === 0} />
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

function Cell<Item>({ column, item, isName }: { column: Column<Item>; item: Item; isName: boolean }) {
  const [title, of, kind] = column;
  if (isName) return <th scope="row">{of(item)}</th>;
  return (
    <td class={kind} data-title={kind === 'actions' ? undefined : title}>
      {of(item)}
    </td>
  );
}

interface PagesProps {
  newest?: string | null;
  newer?: string | null;
  older: string | null;
}

/** Links to other pages of a list; null for one that does not exist. */
export function Pages({ newest = null, newer = null, older }: PagesProps) {
  const links = [
    ['Newest', newest],
    ['Newer', newer],
    ['Older', older],
  ] as const;
  if (links.every(([, to]) => to === null)) return null;
  return (
    <nav class="row" aria-label="Pages">
      {links.map(([words, to]) =>
        to === null ? null : (
          <ButtonLink key={words} to={to}>
            {words}
          </ButtonLink>
        ),
      )}
    </nav>
  );
}
