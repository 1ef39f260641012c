import type { Dependencies } from '#shared/dependencies.ts';
import {
  type KnownPayment,
  type PaymentFacts,
  type PaymentKey,
  readFacts,
} from '#shared/payments/payment.ts';
import { loadAccount } from '#shared/processors/accounts/account.ts';
import { recordKnown } from '#shared/refunds/changes/record-payment.ts';
import type { TestService } from '../service.ts';

/** Stripe's test card whose refunds are pending at first, so that they settle as other processors' do. */
const pendingCard = '4000000000007726';

/** A new payment of 100.00 USD at Stripe, unless the options say otherwise; answers its id. */
export async function newPayment(
  { sandbox }: TestService,
  options: Record<string, unknown> = {},
): Promise<string> {
  const { processor = 'stripe' } = options;
  const card = processor === 'stripe' ? { card: pendingCard } : {};
  return await sandbox.transaction({ processor, amount: 10_000, currency: 'usd', ...card, ...options });
}

/** What is on record of the payment that the processor knows by this id. */
export async function storedPayment({ deps }: Pick<TestService, 'deps'>, transactionId: string) {
  return await deps.db.payment.findFirstOrThrow({ where: { names: { some: { name: transactionId } } } });
}

type PaymentReading =
  | { kind: 'known'; payment: KnownPayment }
  | Exclude<PaymentFacts, { kind: 'stored' } | { kind: 'read' }>;

/** Reads a payment as a creation does, and records what the processor says. */
export async function readPayment(deps: Dependencies, key: PaymentKey): Promise<PaymentReading> {
  const account = await loadAccount(deps.db, key);
  const found = await readFacts(
    deps,
    { account, answer: null },
    key.transactionId,
    await deps.lookups.payment(key),
  );
  if (found.kind === 'stored') return { kind: 'known', payment: found.payment };
  if (found.kind !== 'read') return found;
  return { kind: 'known', payment: await recordKnown(deps, key, found) };
}

/** Locks the payment that the processor knows by a name ($1), as another session may. */
export const lockPaymentByName = `
  select from payment where id in (select payment_id from payment_name where name = $1) for update`;
