import { z } from 'zod';
import type { Environment } from '../ledger/ledger.ts';
import { existing } from '../ledger/payments.ts';
import { randomId } from '../ledger/state.ts';
import type { SandboxProcessor } from '../processor.ts';
import { canExpress } from './amounts.ts';
import { stripeGateway } from './gateway.ts';
import { signedStripeEvent, stripeEvents } from './webhooks.ts';

/** Stripe. A charge and its payment intent are one payment and share everything after the prefix. */
export const stripe = {
  name: 'stripe',
  title: 'Stripe',
  path: '/v1/',
  gateway: stripeGateway,
  payments: {
    fields: {
      id: existing(/^(ch|py|pi)_[A-Za-z0-9_]+$/, 'must look like ch_..., py_... or pi_...'),
      capturedAmount: z.int('must be a whole number of minor units').positive().optional(),
      paymentMethod: z.enum(['card', 'customer_balance']).default('card'),
    },
    statuses: ['succeeded', 'failed', 'uncaptured', 'disputed'],
    newId: () => randomId('ch_', 24),
    isPlausible: (id) => /^(ch|py|pi)_[A-Za-z0-9_]{3,}$/.test(id),
    // Refunds to a customer balance require action, so that a first refund can be cancelled.
    unseenMethod: 'customer_balance',
    storedIds: (id) => (id.startsWith('pi_') ? [`ch_${id.slice(3)}`, `py_${id.slice(3)}`] : [id]),
    otherIds: ({ id }) => [`pi_${id.slice(3)}`],
    problem: ({ amount, capturedAmount = amount, currency }) => {
      const wrong = Object.entries({ amount, capturedAmount }).find(
        ([, minor]) => !canExpress(minor, currency),
      );
      return wrong === undefined
        ? null
        : `${wrong[0]}: Stripe cannot express ${wrong[1]} minor units of ${currency}`;
    },
  },
  refundStatuses: {
    pending: { settlesTo: 'succeeded' },
    requires_action: { settlesTo: 'succeeded' },
    succeeded: {},
    failed: { isReturned: true },
    canceled: { isReturned: true },
  },
  webhooks: {
    keys: { secret: z.string().min(1) },
    keysOf: ({ webhookSecret = '' }) => ({ secret: webhookSecret }),
    events: stripeEvents,
    signed: signedStripeEvent,
  },
  credentials: (environment: Environment) => ({
    secretKey: `sk_${environment}_sandbox`,
    webhookSecret: `whsec_${environment}_sandbox`,
  }),
} satisfies SandboxProcessor;
