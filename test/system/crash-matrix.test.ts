import { beforeAll, describe, expect, test } from 'vitest';
import { madeBeforeTests } from '../support/made-before-tests.ts';
import { isRelease } from '../support/release.ts';
import { seed } from '../support/seed.ts';
import { useDatabase } from '../support/stores/database.ts';
import { type Combination, type Run, slice } from './crash-matrix/combinations.ts';
import { crashPoints } from './crash-matrix/crash-points.ts';
import { allCombinations, playAll, type Result, startMatrix, traces } from './crash-matrix/matrix.ts';
import { plantedBugs } from './crash-matrix/planted-bugs.ts';

/** Combinations that are played without `MATRIX=<count>` or `MATRIX=full`. */
const usualCount = 30;
/** Combinations in which a planted bug must show. */
const plantedCount = 8;

const databaseUrl = useDatabase();
const matrix = madeBeforeTests(
  'The matrix',
  () => startMatrix(databaseUrl()),
  ({ service }) => service.close(),
);

describe('a process that is killed or frozen, with every answer of the processor and lost wake-ups', () => {
  let found: Map<Run, string[]>;
  let all: Combination[];

  beforeAll(async () => {
    found = await traces(matrix);
    all = allCombinations(found);
  }, 300_000);

  test('is stopped before and after each commit, each call and each wake-up', () => {
    const passed = [...found.values()].flat().map((point) => point.replace(/, again$/, ''));
    expect([...new Set(passed)].toSorted()).toEqual([...crashPoints].toSorted());
  });

  test('leaves a refund that moves at most once, ends, and has a timeline that explains its end', async () => {
    const { MATRIX: asked = usualCount } = process.env;
    const count = asked === 'full' ? all.length : Number(asked);
    const result = await playAll(matrix, slice(all, count, seed));
    console.log(`Crash matrix: ${describeResult(result)} (of ${all.length} combinations, TEST_SEED=${seed})`);
    for (const title of result.missed) console.log(`Missed its point: ${title}`);
    expect(result.violations.join('\n')).toBe('');
    expect(result.combinations).toBe(Math.min(count, all.length));
    expect(result.missed.length, result.missed.join('\n')).toBeLessThanOrEqual(Math.max(1, count / 50));
  }, 14_400_000);

  test.each(isRelease ? plantedBugs : plantedBugs.slice(0, 1))(
    'the matrix finds a planted bug: $name',
    async ({ name, tampering, shows, symptom }) => {
      const result = await playAll(matrix, slice(all.filter(shows), plantedCount, seed), tampering);
      const noticed = result.violations.filter((violation) => symptom.test(violation));
      console.log(`Planted: ${name}. ${describeResult(result)}; first: ${noticed[0]}`);
      expect(noticed.length).toBeGreaterThan(0);
    },
    300_000,
  );
});

function describeResult({ combinations, missed, violations, elapsedMs }: Result): string {
  const seconds = (elapsedMs / 1000).toFixed(1);
  return `${combinations} combinations (${missed.length} missed their point), ${violations.length} violations, ${seconds} s`;
}
