import type { AccountDependencies } from '../../processors/accounts/connections.ts';
import type { Lookups } from './lookups.ts';
import type { RefundStatements } from './statements.ts';

/** The dependencies of creating, moving and cancelling refunds. */
export interface RefundDependencies extends AccountDependencies {
  lookups: Lookups;
  statements: RefundStatements;
}
