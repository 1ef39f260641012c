import { execFile } from 'node:child_process';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { beforeAll, describe, expect, test } from 'vitest';

// Tests that the bench measures everything, not what it measures.

const timeoutMs = 900_000;
const root = resolve(import.meta.dirname, '..', '..', '..');

describe('npm run bench', () => {
  let printed = '';

  beforeAll(async () => {
    const scenarios = ['--scenarios', 'production,loaded,inbound,backlog'];
    const options = [
      '--queue',
      'postgres',
      '--seconds',
      '1',
      '--rounds',
      '1',
      '--connections',
      '8',
      ...scenarios,
    ];
    const args = ['--import', 'tsx', join('test', 'bench', 'main.ts'), ...options];
    const { stdout } = await promisify(execFile)(process.execPath, args, { cwd: root, timeout: timeoutMs });
    printed = stdout;
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
  ])('prints rates, latencies and refused requests of: %s', (title) => {
    const numbers = numbersOf(title);
    expect(numbers).toHaveLength(6);
    for (const number of numbers) expect(number).not.toBeNaN();
    expect(numbers[0]).toBeGreaterThan(0);
  });

  test('prints the rate of refunds created and completed', () => {
    const cells = cellsOf('created and completed').map((cell) => cell.trim());
    const [service, p50, p99, refused, naked, kept] = cells;
    expect([p50, p99, refused]).toEqual(['-', '-', '-']);
    for (const rate of [service, naked, kept]) expect(rate).toMatch(/^[\d,.]+$/);
  });

  test.each([
    'statements per refund, under load',
    'processor time per refund, PostgreSQL, ms',
    'request to processor without load, p50 ms',
    'request to processor without load, p99 ms',
    "the processor's webhooks refused, to be sent again",
    'memory of the API after the run, MB',
    'memory of the worker after the run, MB',
  ])('prints for the service and the naked pipeline: %s', (title) => {
    const numbers = numbersOf(title);
    expect(numbers).toHaveLength(2);
    for (const number of numbers) expect(number).not.toBeNaN();
  });

  test("prints the start of the service's API, and what its deliveries cost", () => {
    expect(numbersOf('start of the API to its first answer, ms')[0]).toBeGreaterThan(0);
    expect(numbersOf('deliveries to 49 endpoints')[0]).toBeGreaterThan(0);
    expect(numbersOf('statements per delivery, under load')[0]).toBeGreaterThan(0);
  });

  test('prints each scenario that is asked for, with its conditions', () => {
    const sections = printed.split(/^### /m).slice(1);
    expect(sections.map((section) => section.split(', queue on')[0])).toEqual([
      'As in production',
      '20,000 refunds loaded, without statistics',
      'Webhooks of the processor alone',
      '50,000 refunds due at once',
    ]);
    for (const section of sections)
      expect(section).toContain("1 rounds of 1 s, 8 connections; with the processor's webhooks");
  });

  test('sends both pipelines webhooks that both accept', () => {
    const [service, , , refused, naked] = numbersOf('webhooks that agree with the record');
    expect(service).toBeGreaterThan(0);
    expect(naked).toBeGreaterThan(0);
    expect(refused).toBe(0);
    expect(printed).not.toContain('Refused by the service, webhooks');
  });

  test.each(['1', '2', '4'])(
    'prints what %s workers complete of a backlog, beside the possible',
    (workers) => {
      const [completed, possible, , claim] = numbersOf(workers);
      expect(completed).toBeGreaterThan(0);
      expect(possible).toBe(Math.round((Number(workers) * 50) / 0.3));
      expect(claim).toBeGreaterThan(0);
    },
  );
});
