import { defineConfig } from 'vitest/config';

const env = { TEST_SEED: '1' };

const ofUnits = {
  env,
  setupFiles: 'test/run/seed-properties.ts',
  include: ['test/unit/**/*.test.ts'],
  // Properties of random policies: too slow to repeat for hundreds of mutants.
  exclude: ['test/unit/policies/*-properties.test.ts'],
};

const ofLifecycle = {
  env,
  globalSetup: 'test/run/stores.ts',
  setupFiles: ['test/support/own-fetch.ts', 'test/run/seed-properties.ts'],
  include: ['test/integration/refunds/{lifecycle,attention}/*.test.ts'],
  // A mutated refund may wait for ever. A test that fails ends sooner than one whose process has to be ended and started again.
  testTimeout: 20_000,
  hookTimeout: 60_000,
};

export default defineConfig({ test: process.env.MUTANTS === 'lifecycle' ? ofLifecycle : ofUnits });
