import { readFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { defineConfig } from 'vitest/config';
import { BaseSequencer, type TestSpecification } from 'vitest/node';

/**
 * Starts with files that break or start processes. They wait longest, so none of them runs alone at the end. The files of one
 * project follow each other: with the next file of another one, a worker ends, and all modules are loaded again.
 */
class ProcessesFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const rank = ({ moduleId, project }: TestSpecification) => {
      if (project.name === 'unit') return 2;
      const startsProcesses =
        moduleId.includes('/test/system/') ||
        /\/support\/(faults|processes)\//.test(readFileSync(moduleId, 'utf8'));
      return startsProcesses ? 0 : 1;
    };
    return (await super.sort(files)).toSorted((a, b) => rank(a) - rank(b));
  }
}

const globalSetup = 'test/global-setup.ts';

const contributorProjects = [
  { extends: true as const, test: { name: 'unit', include: ['test/unit/**/*.test.ts'] } },
  {
    extends: true as const,
    test: {
      name: 'service',
      globalSetup,
      include: ['test/integration/**/*.test.ts', 'test/system/*.test.ts'],
    },
  },
];

/** `npm run test:system`, one file at a time, so that chaos and outages have the machine to themselves; then the storms. */
const releaseProjects = [
  {
    extends: true as const,
    test: {
      name: 'release',
      globalSetup,
      include: [
        'test/system/**/*.test.ts',
        // On both queue backends.
        'test/integration/refunds/lifecycle/lifecycle.test.ts',
        // In every state of the statistics.
        'test/integration/platform/statement-plans.test.ts',
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
      globalSetup,
      include: ['test/system/storms/*.test.ts'],
      maxWorkers: availableParallelism(),
      // Longer than a storm takes.
      testTimeout: 7_200_000,
      sequence: { groupOrder: 1 },
    },
  },
];

/** `npm run test:real`, which needs no database. */
const realProjects = [
  { extends: true as const, test: { name: 'real', include: ['test/real/**/*.test.ts'], maxWorkers: 1 } },
];

const isRelease = process.env.RELEASE === 'true';
const isReal = process.env.TEST_REAL === 'true';

export default defineConfig({
  test: {
    sequence: { sequencer: ProcessesFirst },
    // Processes, as in production. Each runs one file after the other without loading all modules again, which would
    // take longer than most files. A test must therefore undo whatever it changes globally: spies, clocks, listeners.
    pool: 'forks',
    isolate: false,
    // More than two processors, because many tests wait: for retries, deadlines and processes that start.
    maxWorkers: 4,
    setupFiles: 'test/support/own-fetch.ts',
    // Servers of tests are on this machine, also where the environment names a proxy.
    env: { no_proxy: '*' },
    // For tests that hang. No test asserts how fast something is: tests run on machines of any speed.
    testTimeout: 600_000,
    hookTimeout: 600_000,
    expect: { poll: { timeout: 120_000 } },
    projects: isReal ? realProjects : isRelease ? releaseProjects : contributorProjects,
  },
});
