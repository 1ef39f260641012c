import { z } from 'zod';
import type { Environment } from '../ledger/ledger.ts';
import { existing } from '../ledger/payments.ts';
import { randomId } from '../ledger/state.ts';
import type { SandboxProcessor } from '../processor.ts';
import { braintreeGateway } from './gateway.ts';
import { braintreeNotifications, signedNotification } from './webhooks.ts';

export const braintree = {
  name: 'braintree',
  title: 'Braintree',
  path: '/merchants/',
  gateway: braintreeGateway,
  payments: {
    fields: {
      id: existing(
        /^(?!credit_)[A-Za-z0-9_-]{1,36}$/,
        'must be 1 to 36 letters, digits, _ or -, not starting with credit_',
      ),
      paymentMethod: z.enum(['card', 'us_bank_account']).default('card'),
    },
    statuses: ['settled', 'settling', 'submitted_for_settlement', 'authorized'],
    newId: () => randomId('', 8),
    isPlausible: (id) => /^(?!(ch|py|pi|re|pyr|credit)_)[A-Za-z0-9_-]{3,36}$/.test(id),
    unseenMethod: 'card',
  },
  refundStatuses: {
    authorized: {},
    submitted_for_settlement: { settlesTo: 'settled' },
    settling: {},
    settlement_pending: {},
    settlement_confirmed: {},
    settled: {},
    settlement_declined: { isReturned: true },
    processor_declined: { isReturned: true },
    gateway_rejected: { isReturned: true },
    failed: { isReturned: true },
    voided: { isReturned: true },
  },
  webhooks: {
    keys: { publicKey: z.string().min(1), privateKey: z.string().min(1) },
    keysOf: ({ publicKey = '', privateKey = '' }) => ({ publicKey, privateKey }),
    events: braintreeNotifications,
    signed: signedNotification,
  },
  credentials: (environment: Environment) => ({
    merchantId: 'sandbox',
    publicKey: `${environment}_public`,
    privateKey: 'private',
  }),
} satisfies SandboxProcessor;
