import { z } from 'zod';
import { isCurrency } from './money.ts';

/** An amount in minor units: a safe integer in JSON, a bigint in code. */
export function minorUnits(smallest: 0 | 1) {
  const message = `must be a whole number of minor units, ${smallest} or more (1050 is 10.50 USD)`;
  return z.codec(
    z.int({ error: message }).min(smallest, { error: message }),
    z.bigint().min(BigInt(smallest), { error: message }),
    { decode: (amount) => BigInt(amount), encode: (amount) => Number(amount) },
  );
}

const currencyMessage = 'must be an ISO 4217 currency, for example "usd"';

/** An ISO 4217 currency, lowercase in the output. */
export const currencySchema = z
  .string({ error: currencyMessage })
  .toLowerCase()
  .refine(isCurrency, { error: currencyMessage });
