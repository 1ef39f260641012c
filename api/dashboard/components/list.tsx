import type { ComponentChildren } from 'preact';
import { withQuery } from '../http/paths.ts';
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
  /** The address of the list. */
  to: string;
  /** Its filter, which all pages keep. */
  filter?: object;
  /** The cursor of this page; null for the first one. */
  cursor: string | null;
  /** The cursors of the pages around it; null for one that does not exist. */
  newer?: string | null;
  older: string | null;
  isOldestFirst?: boolean;
}

/** Links to other pages of a list, each by its cursor in the address. */
export function Pages({ to, filter = {}, cursor, newer = null, older, isOldestFirst = false }: PagesProps) {
  const at = (other: string) => withQuery(to, { ...filter, cursor: other });
  const links = [
    ['Newest', cursor === null || isOldestFirst ? null : at('')],
    ['Newer', newer && at(newer)],
    ['Older', older && at(older)],
  ] as const;
  if (links.every(([, address]) => address === null)) return null;
  return (
    <nav class="row" aria-label="Pages">
      {links.map(([words, address]) =>
        address === null ? null : (
          <ButtonLink key={words} to={address}>
            {words}
          </ButtonLink>
        ),
      )}
    </nav>
  );
}
