import fc from 'fast-check';
import { seed } from '../support/seed.ts';

// Before each test file: all properties take their values from the seed of the run.
fc.configureGlobal({ seed });
