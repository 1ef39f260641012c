import type { Account, Call } from '../exchange.ts';
import type { Cause } from '../state.ts';
import type { Form } from './form.ts';

/** A Stripe call that passed its credentials. */
export interface StripeRequest {
  account: Account;
  call: Call;
  cause: Cause;
  /** The id in the path, '' where there is none. */
  id: string;
  /** Body of a POST, query of a GET. */
  form: Form;
}
