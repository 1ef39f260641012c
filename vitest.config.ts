import { availableParallelism } from 'node:os';
import { defineConfig } from 'vitest/config';
import { BaseSequencer, type TestSpecification } from 'vitest/node';

/**
 * Unit tests come last, because they are short: no long file runs alone at the end. The files of one project follow each other:
 * with the next file of another one, a worker ends, and all modules are loaded again.
 */
class UnitLast extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const rank = ({ project }: TestSpecification) => (project.name === 'unit' ? 1 : 0);
    return (await super.sort(files)).toSorted((a, b) => rank(a) - rank(b));
  }
}

const isRelease = process.env.RELEASE === 'true';
const isReal = process.env.TEST_REAL === 'true';

/** The same values each time, but for a release: so `npm test` fails for a change alone, and releases try others. */
const seed = process.env.TEST_SEED ?? (isRelease ? String(Math.floor(Math.random() * 2 ** 31)) : '1');
if (isRelease) console.log(`To repeat what this run chooses at random: TEST_SEED=${seed}`);

const stores = 'test/run/stores.ts';
const programs = 'test/run/programs.ts';

/** `npm test`: unit and integration. `npm run test:ci`: system. */
const everyChange = [
  { extends: true as const, test: { name: 'unit', include: ['test/unit/**/*.test.ts'] } },
  {
    extends: true as const,
    test: { name: 'integration', globalSetup: stores, include: ['test/integration/**/*.test.ts'] },
  },
  {
    extends: true as const,
    test: { name: 'system', globalSetup: [stores, programs], include: ['test/system/*.test.ts'] },
  },
];

/** `npm run test:system`, one file at a time, so that chaos and outages have the machine to themselves; then the storms. */
const release = [
  {
    extends: true as const,
    test: {
      name: 'release',
      globalSetup: [stores, programs],
      include: [
        'test/system/**/*.test.ts',
        // On both queue backends.
        'test/integration/refunds/lifecycle/lifecycle.test.ts',
        // In every state of the statistics.
        'test/integration/platform/statement-plans.test.ts',
        // With values that no earlier run had.
        ...[
          'test/integration/refunds/lifecycle/model.test.ts',
          'test/integration/refunds/queries/search.test.ts',
        ],
        'test/unit/{money,policies,processors,refunds}/*.test.ts',
      ],
      exclude: ['test/system/storms/**'],
      maxWorkers: 1,
      env: { MATRIX: process.env.MATRIX ?? 'full' },
    },
  },
  {
    extends: true as const,
    test: {
      name: 'storms',
      globalSetup: stores,
      include: ['test/system/storms/*.test.ts'],
      maxWorkers: availableParallelism(),
      // Longer than a storm takes.
      testTimeout: 7_200_000,
      sequence: { groupOrder: 1 },
    },
  },
];

/** `npm run test:real`, which needs no database. */
const real = [
  { extends: true as const, test: { name: 'real', include: ['test/real/**/*.test.ts'], maxWorkers: 1 } },
];

export default defineConfig({
  test: {
    sequence: { sequencer: UnitLast },
    // Processes, as in production. Each runs one file after the other without loading all modules again, which would
    // take longer than most files. A test must therefore undo whatever it changes globally: spies, clocks, listeners.
    pool: 'forks',
    isolate: false,
    // More than two processors, because many tests wait: for retries, deadlines and processes that start.
    maxWorkers: 4,
    setupFiles: [
      'test/support/own-fetch.ts',
      'test/run/measure-cpu-time.ts',
      'test/run/seed-properties.ts',
      'test/run/one-reference.ts',
    ],
    reporters: ['default', './test/run/cpu-time-reporter.ts'],
    // Servers of tests are on this machine, also where the environment names a proxy.
    env: { no_proxy: '*', TEST_SEED: seed },
    // For tests that hang. No test asserts how fast something is: tests run on machines of any speed.
    testTimeout: 600_000,
    hookTimeout: 600_000,
    expect: { poll: { timeout: 120_000 } },
    projects: isReal ? real : isRelease ? release : everyChange,
  },
});
