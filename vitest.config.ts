import { basename } from 'node:path';
import { defineConfig } from 'vitest/config';
import { BaseSequencer, type TestSpecification } from 'vitest/node';

/** Suites that take a minute or two, the longest first. */
const long = [
  ...['dashboard-pages', 'clock-skew', 'bench', 'chaos', 'dashboard-browser', 'crash', 'production', 'dev'],
  ...['lifecycle', 'people-command', 'outages-postgres', 'canaries', 'contract', 'route-access'],
].map((name) => `${name}.test.ts`);

/** Begins with the long ones, so that none of them is what everybody waits for at the end. */
class LongOnesFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const place = ({ moduleId }: TestSpecification) => {
      const index = long.indexOf(basename(moduleId));
      return index === -1 ? long.length : index;
    };
    return (await super.sort(files)).toSorted((a, b) => place(a) - place(b));
  }
}

export default defineConfig({
  test: {
    include: ['test/{unit,integration,system}/**/*.test.ts'],
    globalSetup: 'test/global-setup.ts',
    sequence: { sequencer: LongOnesFirst },
    // Processes, as in production. Each runs suites one after the other without loading everything anew, which would
    // take longer than most suites: so whatever a suite makes global (a spy, a clock, a listener) ends with it.
    pool: 'forks',
    isolate: false,
    maxWorkers: 3,
    // For what hangs. How long something may take is no matter of tests, which run on machines of any speed.
    testTimeout: 180_000,
    hookTimeout: 180_000,
    dangerouslyIgnoreUnhandledErrors: false,
  },
});
