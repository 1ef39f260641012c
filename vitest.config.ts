import { defineConfig } from 'vitest/config';

export default defineConfig({
  test: {
    include: ['test/suites/**/*.test.ts'],
    globalSetup: 'test/global-setup.ts',
    // Processes, as in production: a suite may end or exhaust its own without harm to the others.
    pool: 'forks',
    maxWorkers: 3,
    testTimeout: 40_000,
    hookTimeout: 60_000,
    dangerouslyIgnoreUnhandledErrors: false,
  },
});
