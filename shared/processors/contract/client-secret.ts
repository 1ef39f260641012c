/**
 * True for the secret of a payment, such as `pi_1_secret_2`, which Stripe gives out beside the id. It is a credential: who
 * holds it can confirm the payment.
 */
export function isClientSecret(text: string): boolean {
  return text.includes('_secret_');
}
