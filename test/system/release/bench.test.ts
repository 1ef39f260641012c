import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { beforeAll, describe, expect, test } from 'vitest';
import { useTemporaryFolder } from '../../support/processes/temporary-folder.ts';

// Tests that the bench measures everything, not what it measures.

const timeoutMs = 900_000;
const root = resolve(import.meta.dirname, '..', '..', '..');
const inFolder = useTemporaryFolder();

describe('npm run bench', () => {
  let printed = '';
  let svg = '';

  beforeAll(async () => {
    const picture = inFolder('bench.svg');
    const options = ['--queue', 'postgres', '--seconds', '1', '--rounds', '1', '--connections', '8'];
    const more = ['--preload', '1000', '--svg', picture];
    const args = ['--import', 'tsx', join('test', 'bench', 'main.ts'), ...options, ...more];
    const { stdout } = await promisify(execFile)(process.execPath, args, { cwd: root, timeout: timeoutMs });
    printed = stdout;
    svg = readFileSync(picture, 'utf8');
  }, timeoutMs);

  /** The cells of the line that begins with a title. */
  const cellsOf = (title: string) => {
    const line = printed.split('\n').find((each) => each.startsWith(`| ${title} `));
    return line?.split('|').slice(2, -1) ?? [];
  };
  const numbersOf = (title: string) => cellsOf(title).map((cell) => Number(cell.replaceAll(',', '')));

  test.each([
    'create, `Prefer: respond-async`',
    'create with `Idempotency-Key`',
    'create, payment not seen before',
    'create and wait for the verdict',
    'get',
    'list of 25',
  ])('prints rates and latencies of: %s', (title) => {
    const numbers = numbersOf(title);
    expect(numbers).toHaveLength(5);
    for (const number of numbers) expect(number).not.toBeNaN();
    expect(numbers[0]).toBeGreaterThan(0);
  });

  test('prints the rate of refunds created and completed', () => {
    const [service, p50, p99, naked, kept] = cellsOf('created and completed').map((cell) => cell.trim());
    expect([p50, p99]).toEqual(['-', '-']);
    for (const rate of [service, naked, kept]) expect(rate).toMatch(/^[\d,.]+$/);
  });

  test.each([
    'statements per refund, one at a time',
    'statements per refund, under load',
    'request to processor without load, p50 ms',
    'request to processor without load, p99 ms',
    'memory of the API after the run, MB',
    'memory of the worker after the run, MB',
  ])('prints for the service and the naked pipeline: %s', (title) => {
    const numbers = numbersOf(title);
    expect(numbers).toHaveLength(2);
    for (const number of numbers) expect(number).not.toBeNaN();
  });

  test("prints the start of the service's API and the sizes of its tables", () => {
    expect(numbersOf('start of the API to its first answer, ms')[0]).toBeGreaterThan(0);
    const [rows, tableMb, indexMb, updates] = numbersOf('refund');
    expect(rows).toBeGreaterThan(1_000);
    for (const number of [tableMb, indexMb, updates]) expect(number).toBeGreaterThan(0);
  });

  test('draws two bars for each row', () => {
    const legendAndGround = 3;
    expect(svg.match(/<rect /g)).toHaveLength(9 * 2 + legendAndGround);
  });
});
