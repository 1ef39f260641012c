import type { ComponentChildren } from 'preact';

/** A column of a table. */
export interface Column {
  title: string;
  /**
   * Numbers stand below each other by their last digit. What can be done needs no title that is seen. What is further is
   * left out of lines, and has to be found behind the row's link.
   */
  kind?: 'number' | 'actions' | 'further';
}

/** A row of a table. */
export interface TableRow {
  /** Of the element, so that a link leads to it; unique on the page. */
  id?: string;
  key: string;
  /** As many as there are columns; the first one names the row. */
  cells: readonly ComponentChildren[];
}

export interface TableProps {
  /** What the table shows, for people who hear the page. */
  caption: string;
  columns: readonly Column[];
  rows: readonly TableRow[];
  /** What a row becomes where there is no room for its columns: a card with all of it, or two short lines. */
  narrow?: 'cards' | 'lines';
}

/** A table that becomes a list where there is no room for its columns: nothing has to be scrolled sideways. */
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
