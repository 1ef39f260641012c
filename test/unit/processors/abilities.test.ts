import { expect, test } from 'vitest';
import { evidenceOf, isNews } from '#shared/processors/accounts/abilities.ts';

const since = '2026-01-01T00:00:00Z';
const failure = { code: 'forbidden', message: 'No.' };
const refused = { state: 'refused', since, permission: 'rak_charge_read' } as const;

test('another missing permission is news of an ability that is refused already, and the same one is none', () => {
  const evidence = { ability: 'readPayments', failure } as const;
  const known = { readPayments: refused };
  expect(isNews(known, { ...evidence, permission: 'rak_charge_read' })).toBe(false);
  expect(isNews(known, { ...evidence, permission: 'rak_payment_intent_read' })).toBe(true);
});

test('disputes that were read, or refused, say so of that ability beside the payment', () => {
  const found = (disputes: object) => ({ kind: 'found', value: { disputes } }) as const;
  const payments = { ability: 'readPayments', failure: null };
  expect(evidenceOf('getPayment', found({ kind: 'permitted', ability: 'disputes' }))).toEqual([
    payments,
    { ability: 'disputes', failure: null },
  ]);
  const refusal = { kind: 'misconfigured', scope: 'ability', ability: 'disputes', failure };
  expect(evidenceOf('getPayment', found(refusal))).toEqual([payments, { ability: 'disputes', failure }]);
  expect(evidenceOf('getPayment', found({ ...refusal, scope: 'object' }))).toEqual([payments]);
});
