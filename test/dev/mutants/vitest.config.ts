import { defineConfig } from 'vitest/config';

const ofUnits = {
  include: ['test/unit/**/*.test.ts'],
  // Properties of random policies: too slow to repeat for hundreds of mutants.
  exclude: ['test/unit/policies/*-properties.test.ts'],
};

const ofLifecycle = {
  globalSetup: 'test/global-setup.ts',
  setupFiles: 'test/support/own-fetch.ts',
  include: ['test/integration/refunds/{lifecycle,attention}/*.test.ts'],
  // A mutated refund may wait for ever. A test that fails ends sooner than one whose process has to be ended and started again.
  testTimeout: 20_000,
  hookTimeout: 60_000,
};

export default defineConfig({ test: process.env.MUTANTS === 'lifecycle' ? ofLifecycle : ofUnits });
