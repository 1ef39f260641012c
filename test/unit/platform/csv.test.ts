import { expect, test } from 'vitest';
import { csvLine } from '#shared/platform/formats/csv.ts';
import { parseCsv } from '../../support/http/csv.ts';

/** A text as it comes back from a line of CSV. */
const written = (text: string) => parseCsv(csvLine(['before', text, null]))[0]?.[1];

test.each(['a, b', 'a "b" c', 'a\r\nb', 'a\nb', '"', ''])('the text %j comes back as it was', (text) => {
  expect(written(text)).toBe(text);
});

test.each([
  ['=1+1', "'=1+1"],
  ['+1', "'+1"],
  ['-1', "'-1"],
  ['@SUM(A1)', "'@SUM(A1)"],
  ['\uff1d1+1', "'\uff1d1+1"],
  ['=HYPERLINK("http://a";"b")', '\'=HYPERLINK("http://a";"b")'],
  ['\t=1', "'\t'=1"],
  ['\r=1', "'\r'=1"],
  // A spreadsheet that is set to another separator, or to none, finds these cells within the field.
  ['No.;=1+1', "No.;'=1+1"],
  ['No.,  +1+1', "No.,  '+1+1"],
  ['No.\t@SUM(A1)', "No.\t'@SUM(A1)"],
  ['No.\r\n=1|=2', "No.\r\n'=1|'=2"],
  ['a",=1+1,"', 'a",\'=1+1,"'],
  ['a,-2+3+cmd', "a,'-2+3+cmd"],
  ['a,-2', 'a,-2'],
])('the text %j is no formula to a spreadsheet', (text, disarmed) => {
  expect(written(text)).toBe(disarmed);
});

test('JSON is no formula to a spreadsheet, and stays JSON', () => {
  const json = written(JSON.stringify({ note: '=1+1;@SUM(A1)', list: [1, -2, -1e-7, '-3'] }));
  expect(JSON.parse(json ?? '')).toEqual({ note: "'=1+1;'@SUM(A1)", list: [1, -2, -1e-7, '-3'] });
});
