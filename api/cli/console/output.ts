/** Writes data to stdout, for other programs. Everything else goes to stderr. */
export function printData(text: string): void {
  process.stdout.write(`${text}\n`);
}

/** Writes data as JSON. */
export function printJson(value: unknown): void {
  printData(JSON.stringify(value, null, 2));
}

/** Writes a message for the person at the terminal to stderr. */
export function explain(text: string): void {
  process.stderr.write(`${text}\n`);
}

/** The value of a table cell; null is shown as a dash. */
export type Cell = string | number | Date | null;

/** Writes rows under their headings, aligned, one line each. */
export function printTable(headings: readonly string[], rows: readonly (readonly Cell[])[]): void {
  const lines = [headings.map(showCell), ...rows.map((row) => row.map(showCell))];
  const widths = headings.map((_, column) => Math.max(...lines.map((line) => line[column]?.length ?? 0)));
  for (const line of lines) {
    printData(
      line
        .map((cell, column) => cell.padEnd(widths[column] ?? 0))
        .join('  ')
        .trimEnd(),
    );
  }
}

/** Writes names with their values, one line each. */
export function printFields(fields: readonly (readonly [name: string, value: Cell])[]): void {
  const width = Math.max(...fields.map(([name]) => name.length));
  for (const [name, value] of fields) printData(`${name.padEnd(width)}  ${showCell(value)}`);
}

/** Replaces control characters: names and processor messages are untrusted. */
function showCell(cell: Cell): string {
  if (cell === null) return '-';
  const text = cell instanceof Date ? cell.toISOString() : String(cell);
  return text.replace(/\p{Cc}/gu, '\u{fffd}');
}
