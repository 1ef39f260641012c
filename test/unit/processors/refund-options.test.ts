import { expect, test } from 'vitest';
import { optionProblem, type RefundOptions } from '#shared/processors/contract/refund-options.ts';
import { processorKind } from '#shared/processors/registry.ts';

const plain = { hasTransfer: false, applicationFee: false };
const direct = { hasTransfer: false, applicationFee: true };
const destination = { hasTransfer: true, applicationFee: true };

test.each<[string, typeof plain | null, RefundOptions, keyof RefundOptions | null]>([
  ['stripe', plain, {}, null],
  ['stripe', plain, { instructionsEmail: 'ada@example.org' }, null],
  ['stripe', plain, { reverseTransfer: false, refundApplicationFee: false }, null],
  ['stripe', plain, { reverseTransfer: true }, 'reverseTransfer'],
  ['stripe', plain, { refundApplicationFee: true }, 'refundApplicationFee'],
  ['stripe', direct, { refundApplicationFee: true }, null],
  ['stripe', direct, { refundApplicationFee: true, reverseTransfer: true }, 'reverseTransfer'],
  ['stripe', destination, { reverseTransfer: true }, null],
  ['stripe', destination, { reverseTransfer: true, refundApplicationFee: true }, null],
  // Stripe returns the fee of a transferred payment only together with the transfer.
  ['stripe', destination, { refundApplicationFee: true }, 'refundApplicationFee'],
  ['stripe', null, { reverseTransfer: true, refundApplicationFee: true }, null],
  ['braintree', plain, {}, null],
  ['braintree', plain, { reverseTransfer: false }, 'reverseTransfer'],
  ['braintree', null, { instructionsEmail: 'ada@example.org' }, 'instructionsEmail'],
])('%s, a payment with %j: the options %j lack %s', (name, payment, options, option) => {
  const problem = optionProblem(processorKind(name), payment, options);
  expect(problem).toEqual(option === null ? null : { option, message: expect.stringMatching(/\w\.$/) });
});
