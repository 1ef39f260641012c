import type { TestService } from '../service.ts';

/** A new payment of 100.00 USD at Stripe, unless the options say otherwise; answers its id. */
export async function newPayment(
  { sandbox }: TestService,
  options: Record<string, unknown> = {},
): Promise<string> {
  return await sandbox.transaction({ processor: 'stripe', amount: 10_000, currency: 'usd', ...options });
}
