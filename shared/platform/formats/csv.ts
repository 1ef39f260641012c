/** Before the text of a file that a person opens: without it, spreadsheets do not read it as UTF-8. */
export const byteOrderMark = '\uFEFF';

/** A line of CSV (RFC 4180) with cells that no spreadsheet runs. */
export function csvLine(fields: readonly (string | null)[]): string {
  return `${fields.map((field) => quote(disarm(field ?? ''))).join(',')}\r\n`;
}

function quote(field: string): string {
  return /[",\r\n]/.test(field) ? `"${field.replaceAll('"', '""')}"` : field;
}

/**
 * Spreadsheets run a cell that starts like a formula. An apostrophe before it prevents that, also within a field, because a
 * spreadsheet may be set to other separators and quotes than this file has.
 */
function disarm(field: string): string {
  const inner = field.replace(innerFormula, "$&'");
  return /^[=+\-@\uff1d\uff0b\uff0d\uff20\t\r\n]/.test(inner) ? `'${inner}` : inner;
}

/** A possible end of a cell before the start of a formula. A negative number alone is none, so that lists in JSON stay valid. */
const innerFormula =
  /[,;|\t\r\n"'] *(?=[=+\-@\uff1d\uff0b\uff0d\uff20])(?!-\d+(?:\.\d+)?(?:e[+-]?\d+)?(?:[,;|\]}"'\s]|$))/g;
