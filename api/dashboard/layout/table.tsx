import type { ComponentChildren } from 'preact';

/** A column of a table. */
export interface Column {
  title: string;
  /** Numbers are right-aligned, `actions` has a hidden title, and `further` is hidden on narrow `lines`. */
  kind?: 'number' | 'actions' | 'further';
}

/** A row of a table. */
export interface TableRow {
  /** The id of the element, for links to it. */
  id?: string;
  key: string;
  /** One per column; the first is the row's header. */
  cells: readonly ComponentChildren[];
}

export interface TableProps {
  /** For screen readers. */
  caption: string;
  columns: readonly Column[];
  rows: readonly TableRow[];
  /** The layout of a row on a narrow screen: a card with all cells, or two short lines. */
  narrow?: 'cards' | 'lines';
}

/** A table that becomes a list on narrow screens. */
export function Table({ caption, columns, rows, narrow = 'cards' }: TableProps) {
  return (
    <table data-narrow={narrow}>
      <caption class="visually-hidden">{caption}</caption>
      <thead>
        <tr>
          {columns.map((column) => (
            <Head key={column.title} {...column} />
          ))}
        </tr>
      </thead>
      <tbody>
        {rows.map(({ id, key, cells }) => (
          <tr id={id} key={key}>
            {columns.map((column, index) => (
              <Cell key={column.title} {...column} isName={index === 0}>
                {cells[index]}
              </Cell>
            ))}
          </tr>
        ))}
      </tbody>
    </table>
  );
}

function Head({ title, kind }: Column) {
  return (
    <th scope="col" class={kind === 'number' ? 'number' : undefined}>
      {kind === 'actions' ? <span class="visually-hidden">{title}</span> : title}
    </th>
  );
}

function Cell({ title, kind, isName, children }: Column & { isName: boolean; children: ComponentChildren }) {
  if (isName) return <th scope="row">{children}</th>;
  return (
    <td
      class={kind === 'number' ? 'number' : undefined}
      data-kind={kind === 'further' ? kind : undefined}
      data-title={kind === 'actions' ? undefined : title}
    >
      {children}
    </td>
  );
}
