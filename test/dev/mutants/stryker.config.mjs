/** `MUTANTS=lifecycle` mutates what needs a database, and takes the tests of test/integration that cover it. */
const ofLifecycle = process.env.MUTANTS === 'lifecycle';

/** @type {import('@stryker-mutator/core').PartialStrykerOptions} */
export default {
  mutate: ofLifecycle
    ? ['shared/refunds/{changes,lifecycle}/*.ts', 'worker/advance/{advance-refund,due-work,review,steps}.ts']
    : [
        'shared/money/*.ts',
        'shared/refunds/model/*.ts',
        'shared/policies/{balance,bounds,denials,evaluate,evaluate-refund,explain,policy,policy-facts,decision}.ts',
        'shared/insights/past-totals.ts',
        'shared/refund-request/*.ts',
        'shared/refunds/lifecycle/step-outcome.ts',
        'worker/advance/{outcomes,unanswered}.ts',
        'worker/deliver/attempt-result.ts',
      ],
  testRunner: 'vitest',
  plugins: ['@stryker-mutator/vitest-runner'],
  vitest: { configFile: 'test/dev/mutants/vitest.config.ts', related: false },
  coverageAnalysis: 'perTest',
  ignoreStatic: true,
  concurrency: 2,
  dryRunTimeoutMinutes: 20,
  timeoutMS: ofLifecycle ? 60_000 : 5_000,
  tempDirName: 'test/output/mutants',
  reporters: ['clear-text', 'json', 'progress-append-only'],
  jsonReporter: { fileName: 'test/output/mutants.json' },
  clearTextReporter: { logTests: false, reportTests: false, reportMutants: false },
  ignorePatterns: [
    '/*',
    ...['package.json', 'tsconfig.json', 'tsconfig.build.json', 'build.ts', 'api', 'docs', 'prisma'],
    ...['shared', 'test', 'worker'],
  ].map((name) => (name === '/*' ? name : `!/${name}`)),
  allowConsoleColors: false,
  tsconfigFile: 'unused',
};
