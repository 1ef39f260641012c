import { expect } from 'vitest';
import type { TestService } from '../service.ts';
import { readLedger } from './ledger.ts';
import { ledgerViolations } from './ledger-rules.ts';

/** Holds our records against the processors' ledger; refunds that a test made outside of the service aside. */
export async function expectInvariants({ deps, sandbox }: TestService): Promise<void> {
  expect(ledgerViolations(await readLedger(deps.db, sandbox), true)).toEqual([]);
}
