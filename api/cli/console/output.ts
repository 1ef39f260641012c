import { once } from 'node:events';

/** Writes data to stdout, for other programs. Everything else goes to stderr. */
export function printData(text: string): void {
  process.stdout.write(`${printable(text)}\n`);
}

/** Writes a line of much data to stdout, and waits until the reader has taken enough of what was written before. */
export async function writeLine(line: string): Promise<void> {
  if (!process.stdout.write(`${printable(line)}\n`)) await once(process.stdout, 'drain');
}

/** Writes data as JSON. */
export function printJson(value: unknown): void {
  printData(jsonOf(value, 2));
}

/** JSON in which all control characters are escaped, also those that JSON allows and terminals obey. */
export function jsonOf(value: unknown, indent = 0): string {
  const escaped = (character: string) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`;
  return JSON.stringify(value, null, indent).replace(/[\u007f-\u009f]/g, escaped);
}

/** Writes a message for the person at the terminal to stderr. */
export function explain(text: string): void {
  process.stderr.write(`${printable(text)}\n`);
}

/** The value of a table cell; null is shown as a dash. */
export type Cell = string | number | Date | null;

/** The columns of a table: a heading, and what is shown of an item. */
export type Columns<Item> = Readonly<Record<string, (item: Item) => Cell>>;

/** Writes items under their headings, aligned, one line each. */
export function printTable<Item>(items: readonly Item[], columns: Columns<Item>): void {
  const rows = items.map((item) => Object.values(columns).map((show) => showCell(show(item))));
  const lines = [Object.keys(columns), ...rows];
  const widths = Object.keys(columns).map((_, column) =>
    Math.max(...lines.map((line) => line[column]?.length ?? 0)),
  );
  for (const line of lines) {
    printData(
      line
        .map((cell, column) => cell.padEnd(widths[column] ?? 0))
        .join('  ')
        .trimEnd(),
    );
  }
}

/** Writes items as JSON or as a table; says so when there are none. */
export function printList<Item>(
  items: readonly Item[],
  options: { json: boolean | undefined; empty: string; columns: Columns<Item> },
): void {
  if (options.json) printJson(items);
  else if (items.length === 0) explain(options.empty);
  else printTable(items, options.columns);
}

/** Writes names with their values, one line each. */
export function printFields(fields: readonly (readonly [name: string, value: Cell])[]): void {
  const width = Math.max(...fields.map(([name]) => name.length));
  for (const [name, value] of fields) printData(`${name.padEnd(width)}  ${showCell(value)}`);
}

function showCell(cell: Cell): string {
  if (cell === null) return '-';
  const text = cell instanceof Date ? cell.toISOString() : String(cell);
  return printable(text.replace(/[\t\n\r]/g, '\u{fffd}'));
}

/** Replaces the control characters that terminals obey: names, metadata and processor messages are untrusted. */
function printable(text: string): string {
  return text.replace(/\r(?!\n)|[^\P{Cc}\t\n\r]/gu, '\u{fffd}');
}
