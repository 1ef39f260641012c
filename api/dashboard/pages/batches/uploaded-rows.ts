import { readRows } from '#api/operations/batch-rows.ts';
import type { RequestedRow } from '#shared/batches/create-batch.ts';
import { readCsvRows } from '#shared/batches/csv.ts';
import { exponentOf, formatAmount, isCurrency } from '#shared/money/money.ts';
import { inPieces, type Pieces } from '#shared/platform/formats/pieces.ts';
import { readAmount } from '../../words/numbers.ts';

/** What the column `amount` is in: `10.50` in major units is 1050 in minor ones. */
export const units = ['major', 'minor'] as const;
export type Unit = (typeof units)[number];

/** What an amount without decimals can mean. */
export interface Question {
  /** The first such amount, as it is written. */
  written: string;
  /** What it is in each unit. */
  meanings: Readonly<Record<Unit, string>>;
}

type Row = Record<string, unknown>;

/** A row with its amount in minor units, or what is wrong with that. */
type Converted = { row: Row; problem?: string };

/**
 * Reads the rows of a file that a person made. The column `amount` is in major units, as in the form. If no amount of it has decimals, it
 * may be in minor units as well, as in files for the API.
 * @param unit what the person has answered; null before.
 * @returns the rows, or what has to be asked first.
 * @throws ServiceError validation_error for what is no CSV of refunds.
 */
export async function readUpload(text: string, unit: Unit | null): Promise<RequestedRow[] | Question> {
  const rows = await readCsvRows(text, (written) => ({ written }));
  const question = unit === null ? questionAbout(rows) : null;
  if (question !== null) return question;
  const converted = await inPieces(converting(rows, unit ?? 'major'));
  const read = await readRows(converted.map(({ row }) => row));
  return read.map((row, index) => {
    const { problem } = converted[index] ?? {};
    return problem === undefined ? row : { problem };
  });
}

/** Of the longest amounts they take a few milliseconds. */
const rowsOfPiece = 100;

function* converting(rows: readonly Row[], unit: Unit): Pieces<Converted[]> {
  const converted: Converted[] = [];
  for (const row of rows) {
    if (converted.length % rowsOfPiece === 0) yield;
    converted.push(toMinor(row, unit));
  }
  return converted;
}

function questionAbout(rows: readonly Row[]): Question | null {
  const written = rows.flatMap((row) => {
    const currency = currencyOf(row);
    const hasDecimals = currency !== null && exponentOf(currency) > 0;
    return typeof row.written === 'string' && hasDecimals ? [{ text: row.written, currency }] : [];
  });
  const [first] = written;
  if (first === undefined || written.some(({ text }) => !isWhole(text))) return null;
  const { text, currency } = first;
  const meaning = (unit: Unit) => {
    const read = amountIn(text, currency, unit);
    return typeof read === 'bigint' ? formatAmount(read, currency) : read.problem;
  };
  return { written: text, meanings: { major: meaning('major'), minor: meaning('minor') } };
}

const isWhole = (text: string) => /^\d{1,15}$/.test(text);

/** As the API reads it; null for none, which the row is refused for. */
function currencyOf({ currency = 'usd' }: Row): string | null {
  const code = String(currency).toLowerCase();
  return isCurrency(code) ? code : null;
}

function toMinor({ written, ...row }: Row, unit: Unit): Converted {
  const currency = currencyOf(row);
  if (typeof written !== 'string') return { row };
  // The row is refused for its currency.
  if (currency === null) return { row: { ...row, amount: 1 } };
  const amount = amountIn(written, currency, unit);
  return typeof amount === 'bigint'
    ? { row: { ...row, amount: Number(amount) } }
    : { row, problem: `amount: ${amount.problem}` };
}

function amountIn(text: string, currency: string, unit: Unit): bigint | { problem: string } {
  if (unit === 'minor' && isWhole(text)) return BigInt(text);
  const read = readAmount(text, currency);
  if (read.kind === 'problem') return read;
  return read.amount > 0n ? read.amount : { problem: 'Must be more than 0.' };
}
