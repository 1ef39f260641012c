import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { errorCatalogue } from '../../../shared/platform/errors.ts';

const rows = readFileSync(new URL('../../../docs/errors.md', import.meta.url), 'utf8')
  .split('\n')
  .filter((line) => /^\| \d{3} \|/.test(line))
  .map((line) => line.split('|').slice(1, -1))
  .map((cells) => cells.map((cell) => cell.trim()));

test('docs/errors.md lists the catalogue of shared/platform/errors.ts, in its order and its words', () => {
  const expected = Object.entries(errorCatalogue).map(([code, { status, retryable, summary }]) =>
    [status, `\`${code}\``, summary, retryable ? 'yes' : 'no'].join(' | '),
  );
  const found = rows.map((cells) => cells.slice(0, 4).join(' | '));
  expect(
    found,
    'bring the table of docs/errors.md in step with errorCatalogue in shared/platform/errors.ts',
  ).toEqual(expected);
});

test('docs/errors.md says for every code what to do', () => {
  for (const [status, code, , , advice] of rows) {
    expect(advice, `the last column of ${status} ${code}`).toMatch(/^[A-Z].{10,}\.$/);
  }
});
