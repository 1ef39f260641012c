import { beforeAll, describe, expect, test } from 'vitest';
import type { Run } from '../harness/crash-matrix/combinations.ts';
import { slice, titleOf } from '../harness/crash-matrix/combinations.ts';
import { allCombinations, playAll, startMatrixService, traces } from '../harness/crash-matrix/matrix.ts';
import { useDatabase } from '../harness/database.ts';
import { madeBeforeTests } from '../harness/made-before-tests.ts';

const databaseUrl = useDatabase();
const service = madeBeforeTests(
  'The service',
  () => startMatrixService(databaseUrl()),
  (started) => started.close(),
);
const seed = Number(process.env.MATRIX_SEED ?? 1);

describe('the crash matrix', () => {
  let found: Map<Run, string[]>;
  beforeAll(async () => {
    const since = performance.now();
    found = await traces(service);
    console.log('traces', performance.now() - since);
  }, 120_000);

  test('points', () => {
    for (const [run, trace] of found)
      console.log(JSON.stringify(run), trace.length, process.env.SHOW ? trace : '');
    const names = new Set([...found.values()].flat().map((point) => point.replace(/, again$/, '')));
    console.log([...names].sort());
  });

  test('combinations', async () => {
    const all = allCombinations(found);
    const chosen =
      process.env.MATRIX === 'full'
        ? all
        : slice(
            process.env.ONLY ? all.filter((c) => new RegExp(process.env.ONLY ?? '').test(titleOf(c))) : all,
            Number(process.env.N ?? 200),
            seed,
          );
    const { combinations, checks, violations, elapsedMs } = await playAll(service, chosen);
    console.log(
      `${combinations} of ${all.length} combinations, ${checks} checks, ${violations.length} violations, ${elapsedMs} ms`,
    );
    expect(violations.slice(0, 20).join('\n')).toBe('');
  }, 3_600_000);
});
