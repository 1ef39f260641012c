import { defineConfig } from 'vitest/config';

const ofUnits = {
  include: ['test/unit/**/*.test.ts'],
  // Properties of random policies: too slow to repeat for hundreds of mutants.
  exclude: ['test/unit/policies/*-properties.test.ts'],
};

const ofLifecycle = {
  globalSetup: 'test/global-setup.ts',
  setupFiles: 'test/support/own-fetch.ts',
  include: [
    'test/integration/refunds/lifecycle/{lifecycle,next-step,step-failures}.test.ts',
    'test/integration/refunds/attention/{flags,refused-credentials,reviews}.test.ts',
  ],
  testTimeout: 180_000,
  hookTimeout: 180_000,
};

export default defineConfig({ test: process.env.MUTANTS === 'lifecycle' ? ofLifecycle : ofUnits });
