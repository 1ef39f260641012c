import { Readable } from 'node:stream';
import { setImmediate } from 'node:timers/promises';
import type { Database } from '../platform/database.ts';
import { ServiceError } from '../platform/errors.ts';
import { csvLine } from '../platform/formats/csv.ts';
import { inPieces, type Pieces } from '../platform/formats/pieces.ts';
import { maxRows, type RowResult, type RowState, readResults } from './batch.ts';

const columns = [
  ...[
    'transactionId',
    'amount',
    'amountMinor',
    'currency',
    'reason',
    'processor',
    'account',
    'connectedAccount',
  ],
  'idempotencyKey',
];
const metadataPrefix = 'metadata.';
const maxColumns = 60;
const pieceBytes = 64 * 1024;

/** What a cell of the column `amount` says: fields of its row. */
type AmountCell = (cell: string) => Record<string, unknown>;

/** Anything but a whole number is refused like any amount that is no number. */
const inMinorUnits: AmountCell = (cell) => ({ amount: /^\d{1,15}$/.test(cell) ? Number(cell) : cell });

/**
 * Reads the rows of a CSV file (RFC 4180, with or without a byte order mark), which are not validated yet. The first line names the columns,
 * after a line such as `sep=;` if there is one; cells are separated by commas, semicolons or tabs. An empty cell is left out; an empty
 * amount is all that is left. Rows and last columns without content are left out.
 * @param amount reads the column `amount`: in minor units, by default, as the column `amountMinor` always is.
 * @throws ServiceError validation_error for what is no CSV, and for unknown, repeated or missing columns.
 */
export async function readCsvRows(
  text: string,
  amount: AmountCell = inMinorUnits,
): Promise<Record<string, unknown>[]> {
  const [header = [], ...lines] = await linesOf(text);
  const names = withoutEmptyEnd(header.map((name) => name.trim()));
  if (names.length > maxColumns) throw invalid(`more than ${maxColumns} columns`);
  checkColumns(names);
  // What follows too many rows was not read, so these are kept, to be refused.
  const rows = lines.length > maxRows ? lines : lines.filter(hasContent);
  checkCells(names, rows);
  return await inPieces(makingRows(names, rows, amount));
}

async function linesOf(text: string): Promise<string[][]> {
  const { parse } = await import('csv-parse');
  const [named = '', separator = separatorIn(text)] = namedSeparator.exec(text) ?? [];
  // With one row more than there may be, so that the rows are refused.
  const limits = { to: maxRows + 2, relax_column_count: true };
  try {
    const parser = parse({ bom: true, skip_empty_lines: true, delimiter: separator, ...limits });
    return await Readable.from(piecesOf(Buffer.from(text.slice(named.length))))
      .pipe(parser)
      .toArray();
  } catch (cause) {
    const { lines: line } = cause as { lines?: number };
    throw invalid(`not valid CSV${line === undefined ? '' : ` in line ${line}`}; separate cells by commas`);
  }
}

/** A first line that names the separator to spreadsheets. */
const namedSeparator = /^\uFEFF?"?sep=([,;\t])"?\r?\n/i;

/** What follows the first cell of the header, which may be quoted. No name of a column is longer. */
function separatorIn(text: string): string {
  return /^\uFEFF?(?:"[^"]{0,99}"|[^",;\t\r\n]{0,99})([,;\t])/.exec(text)?.[1] ?? ',';
}

const hasContent = (cells: readonly string[]) => cells.some((cell) => cell.trim() !== '');

function withoutEmptyEnd(names: readonly string[]): string[] {
  return names.slice(0, names.findLastIndex((name) => name !== '') + 1);
}

/** A decimal comma that is read as a separator moves the cells after it. */
function checkCells(names: readonly string[], rows: readonly string[][]): void {
  const index = rows.findIndex(
    (cells) => cells.length < names.length || hasContent(cells.slice(names.length)),
  );
  const cells = rows[index];
  if (cells === undefined) return;
  throw invalid(`row ${index + 1} has ${cells.length} cells, but the header has ${names.length}`);
}

/** Other work goes on between the pieces: the largest file at once would stop it for half a second. */
async function* piecesOf(bytes: Buffer): AsyncGenerator<Buffer> {
  for (let start = 0; start < bytes.length; start += pieceBytes) {
    yield bytes.subarray(start, start + pieceBytes);
    await setImmediate();
  }
}

function checkColumns(names: readonly string[]): void {
  // A key __proto__ would be lost.
  const isMetadata = (name: string) =>
    name.startsWith(metadataPrefix) && !['', '__proto__'].includes(name.slice(metadataPrefix.length));
  const unknown = names.find((name) => !columns.includes(name) && !isMetadata(name));
  if (unknown !== undefined) {
    const known = [...columns, `${metadataPrefix}<key>`].join(', ');
    throw invalid(`unknown column ${JSON.stringify(unknown.slice(0, 40))}; the columns are ${known}`);
  }
  const repeated = names.find((name, index) => names.indexOf(name) !== index);
  if (repeated !== undefined)
    throw invalid(`the column ${JSON.stringify(repeated.slice(0, 40))} is repeated`);
  // Without this, a file whose amounts were left out would refund everything.
  const amounts = names.filter((name) => name === 'amount' || name === 'amountMinor');
  if (amounts.length > 1) throw invalid('the columns amount and amountMinor cannot be combined');
  const missing = ['transactionId', amounts[0] ?? 'amount', 'reason'].find((name) => !names.includes(name));
  if (missing === undefined) return;
  const instead = missing === 'amount' ? '; leave a cell empty to refund all that is left' : '';
  throw invalid(`the column ${missing} is missing${instead}`);
}

/** Of all columns they take a few milliseconds. */
const rowsOfPiece = 50;

function* makingRows(
  names: readonly string[],
  lines: readonly string[][],
  amount: AmountCell,
): Pieces<Record<string, unknown>[]> {
  const rows: Record<string, unknown>[] = [];
  for (const cells of lines) {
    if (rows.length % rowsOfPiece === 0) yield;
    rows.push(rowOf(names, cells, amount));
  }
  return rows;
}

function rowOf(
  names: readonly string[],
  cells: readonly string[],
  amount: AmountCell,
): Record<string, unknown> {
  const row: Record<string, unknown> = {};
  const metadata = new Map<string, string>();
  for (const [index, name] of names.entries()) {
    const cell = cells[index]?.trim() ?? '';
    if (name === 'amount' || name === 'amountMinor') {
      const read = name === 'amount' ? amount : inMinorUnits;
      Object.assign(row, cell === '' ? { remaining: true } : read(cell));
    } else if (cell !== '') {
      if (name.startsWith(metadataPrefix)) metadata.set(name.slice(metadataPrefix.length), cell);
      else row[name] = cell;
    }
  }
  return metadata.size === 0 ? row : { ...row, metadata: Object.fromEntries(metadata) };
}

function invalid(problem: string): ServiceError {
  return new ServiceError('validation_error', `body: ${problem}.`);
}

const resultColumns = [
  ...['row', 'state', 'transactionId', 'refundId', 'amount', 'currency', 'refundStatus'],
  ...['errorCode', 'errorMessage'],
] as const satisfies readonly (keyof RowResult)[];

/** Rows of one statement. */
const pageSize = 1_000;

/** The results of a batch, or of its rows in a state, as CSV: at most that of `maxRows`. */
export async function resultsInCsv(db: Database, batchId: string, state?: RowState): Promise<string> {
  const lines = [csvLine(resultColumns)];
  for (let after: number | undefined = 0; after !== undefined; ) {
    const rows: RowResult[] = await readResults(db, batchId, { after, limit: pageSize, state });
    for (const row of rows) lines.push(csvLine(resultColumns.map((name) => row[name]?.toString() ?? null)));
    after = rows.at(-1)?.row;
  }
  return lines.join('');
}
