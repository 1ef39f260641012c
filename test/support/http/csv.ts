import { parse } from 'csv-parse/sync';

/** All pieces of a text that comes piece by piece. */
export { text as wholeText } from 'node:stream/consumers';

/** The lines of a CSV as RFC 4180 has it, each with its fields. @throws Error for what is none. */
export const parseCsv = (text: string): string[][] => parse(text, { record_delimiter: '\r\n' });
