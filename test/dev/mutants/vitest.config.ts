import { defineConfig } from 'vitest/config';

export default defineConfig({
  test: {
    include: ['test/unit/**/*.test.ts'],
    // Properties of random policies: too slow to repeat for hundreds of mutants.
    exclude: ['test/unit/policies/*-properties.test.ts'],
  },
});
