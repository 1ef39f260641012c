import { existsSync, readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { expect, test } from 'vitest';

const root = resolve(import.meta.dirname, '..', '..', '..');
const lines = readFileSync(resolve(root, 'docs', 'promises.md'), 'utf8')
  .split('\n')
  .filter((line) => line.startsWith('- '));

test('each promise of the list names a test that exists', () => {
  expect(lines.length).toBeGreaterThan(50);
  expect(lines.filter((line) => !namesTest(line))).toEqual([]);
});

test('each title says something besides what its cases fill in', () => {
  const words = (title: string) => title.replace(/%\w|\$\w+/g, '').match(/[\w'-]{2,}/g) ?? [];
  const titles = lines.map((line) => /`: "(.+)"$/.exec(line)?.[1] ?? '');
  expect(titles.filter((title) => words(title).length < 3)).toEqual([]);
});

test('no test stands for two promises of the list', () => {
  const tests = lines.map((line) => line.slice(line.indexOf('`test/')));
  expect(tests.filter((each, index) => tests.indexOf(each) < index)).toEqual([]);
});

/** Whether a line ends with a file and a title that stands in it, in quotes. */
function namesTest(line: string): boolean {
  const [, file = '', title = ''] = /\. `(test\/[^`]+\.ts)`: "(.+)"$/.exec(line) ?? [];
  if (file === '' || !existsSync(resolve(root, file))) return false;
  const source = readFileSync(resolve(root, file), 'utf8');
  return [`'${title}'`, `"${title}"`, `\`${title}\``].some((quoted) => source.includes(quoted));
}
