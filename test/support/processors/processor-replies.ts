/** A Stripe refund. */
export const refundJson = (changes: object = {}) => ({
  object: 'refund',
  id: 're_1',
  amount: 1_500,
  currency: 'usd',
  status: 'pending',
  metadata: {},
  ...changes,
});

/** A Stripe charge. */
export const chargeJson = (changes: object = {}) => ({
  object: 'charge',
  id: 'ch_1',
  amount: 5_000,
  amount_captured: 5_000,
  amount_refunded: 0,
  captured: true,
  created: 1_700_000_000,
  currency: 'usd',
  disputed: false,
  payment_intent: 'pi_1',
  refunded: false,
  status: 'succeeded',
  ...changes,
});

/** A Braintree transaction, a settled sale unless fields say otherwise. */
export const transactionXml = (fields: Record<string, string>, refundIds: string[] = []) => {
  const all = {
    id: 'sale1',
    type: 'sale',
    status: 'settled',
    amount: '50.00',
    'currency-iso-code': 'USD',
    ...fields,
  };
  const elements = Object.entries(all).map(([name, value]) => `<${name}>${value}</${name}>`);
  const ids = refundIds.map((id) => `<item>${id}</item>`).join('');
  return (
    `<transaction>${elements.join('')}<created-at type="datetime">2026-01-31T12:00:00Z</created-at>` +
    `<refund-ids type="array">${ids}</refund-ids></transaction>`
  );
};

/** A Braintree credit. */
export const creditXml = (fields: Record<string, string> = {}) =>
  transactionXml({
    id: 'credit1',
    type: 'credit',
    status: 'submitted_for_settlement',
    amount: '15.00',
    'refunded-transaction-id': 'sale1',
    ...fields,
  });
