import type { Reporter, TestModule } from 'vitest/node';

/** More than this of one file is a reason to look at it, and fails nothing: machines differ. */
function budgetSeconds(path: string): number {
  // Has a PostgreSQL of its own for each state of the statistics, which is counted as well, with 10,000 refunds.
  if (path.endsWith('/statement-plans.test.ts')) return 40;
  return path.startsWith('test/system/') ? 30 : 15;
}
const shown = 20;

/** Prints the test files that took the most CPU, without that of the PostgreSQL and the Redis that files share. */
export default class CpuTimeReporter implements Reporter {
  onTestRunEnd(modules: readonly TestModule[]): void {
    const files = modules.map((module) => ({
      path: module.relativeModuleId,
      seconds: module.meta().cpuSeconds ?? 0,
    }));
    const total = files.reduce((sum, { seconds }) => sum + seconds, 0);
    console.log(`\nSeconds of CPU: ${total.toFixed(0)} in ${files.length} files. The most:`);
    for (const { path, seconds } of files.toSorted((a, b) => b.seconds - a.seconds).slice(0, shown)) {
      const budget = budgetSeconds(path);
      const warning = seconds > budget ? `  over the budget of ${budget} s` : '';
      console.log(`${seconds.toFixed(1).padStart(7)}  ${path}${warning}`);
    }
  }
}
