import { z } from 'zod';
import {
  type Account,
  type Answer,
  type Call,
  type Protocol,
  Refusal,
  type Request,
  scopeOf,
} from '../exchange.ts';
import type { Operation } from '../faults.ts';
import type { Environment, Ledger, Scope } from '../ledger.ts';
import type { PaymentTerms, SandboxProcessor } from '../processor.ts';
import { randomId } from '../random-id.ts';
import type { LimitedBy } from '../rates.ts';
import { retrieveAccount } from './accounts.ts';
import { canExpress } from './amounts.ts';
import { errorAnswer, jsonAnswer } from './answers.ts';
import { disputeStates } from './disputes.ts';
import { accountOf, CONNECTED_ACCOUNT, missingPermission, type Permission } from './keys.ts';
import { listInvoicePayments, retrieveSession } from './names.ts';
import { listDisputes, retrieveCharge, retrievePaymentIntent } from './payments.ts';
import { cancelRefund, createRefund, listRefunds, retrieveRefund } from './refunds.ts';
import { signedStripeEvent, stripeDisputeEvents, stripeEvents } from './webhooks.ts';

/** A Stripe call that passed its credentials. */
export interface StripeRequest {
  ledger: Ledger;
  scope: Scope;
  /** The id in the path, '' where there is none. */
  id: string;
  /** Body of a POST, query of a GET. */
  form: URLSearchParams;
}

type Handle = (request: StripeRequest) => object;

const ROUTES: readonly [
  route: RegExp,
  operation: Operation | null,
  permission: Permission,
  handle: Handle,
][] = [
  [/^GET \/v1\/account$/, null, 'accounts_kyc_basic_read', retrieveAccount],
  [/^GET \/v1\/charges\/([^/]+)$/, 'transaction.get', 'charge_read', retrieveCharge],
  [/^GET \/v1\/payment_intents\/([^/]+)$/, 'transaction.get', 'payment_intent_read', retrievePaymentIntent],
  [/^GET \/v1\/checkout\/sessions\/([^/]+)$/, 'transaction.get', 'checkout_session_read', retrieveSession],
  [/^GET \/v1\/invoice_payments$/, 'transaction.get', 'invoice_read', listInvoicePayments],
  [/^GET \/v1\/disputes$/, 'transaction.get', 'dispute_read', listDisputes],
  [/^POST \/v1\/refunds$/, 'refund.create', 'refund_write', createRefund],
  [/^GET \/v1\/refunds$/, 'refund.find', 'refund_read', listRefunds],
  [/^GET \/v1\/refunds\/([^/]+)$/, 'refund.get', 'refund_read', retrieveRefund],
  [/^POST \/v1\/refunds\/([^/]+)\/cancel$/, 'refund.cancel', 'refund_write', cancelRefund],
];

function routeOf({ method, path }: Call) {
  const called = `${method} ${path}`;
  return ROUTES.find(([pattern]) => pattern.test(called));
}

/** A request is about the payment that it names, or about that of the refund that it names. */
function read(ledger: Ledger, call: Call, account: Account): Request {
  const [pattern, operation = null, , handle] = routeOf(call) ?? [];
  const id = decodeURIComponent(pattern?.exec(`${call.method} ${call.path}`)?.[1] ?? '');
  const form = call.method === 'GET' ? call.query : new URLSearchParams(call.body);
  const scope = { ...scopeOf(account), processor: 'stripe' };
  const named = form.get('charge') ?? form.get('payment_intent');
  // The same path lists the refunds of a payment, and those of all.
  const listsAll = handle === listRefunds && named === null;
  return {
    operation: listsAll ? 'refund.list' : operation,
    endpoint: String(pattern),
    paymentId: ledger.refund(scope, id)?.paymentId ?? named ?? id,
    key: keyOf(call, form),
    perform(crash) {
      const { answer, isJudged } = answerTo(handle, { ledger, scope, id, form });
      const { status, body } = crash ? failure({ status: 500 }) : answer;
      return { answer, kept: isJudged ? JSON.stringify({ status, body }) : undefined };
    },
  };
}

/** Parameters are checked before work begins; what fails there is not judged. */
function answerTo(handle: Handle | undefined, request: StripeRequest) {
  if (handle === undefined) {
    return { answer: errorAnswer(404, { message: 'Unrecognized request URL.' }), isJudged: false };
  }
  try {
    return { answer: jsonAnswer(200, handle(request)), isJudged: true };
  } catch (error) {
    if (error instanceof Refusal) return error;
    throw error;
  }
}

/**
 * Stripe's first version of idempotency: the first answer given after work began, be it a success, a refusal or a 500, is
 * the answer for ever. What fails earlier (bad parameters, credentials, rate limits, a clash) leaves the key unused.
 */
function keyOf({ method, path, headers }: Call, form: URLSearchParams): Request['key'] {
  const name = headers['idempotency-key'];
  if (typeof name !== 'string' || method !== 'POST') return null;
  // The same parameters in another order are the same request.
  const sorted = new URLSearchParams(form);
  sorted.sort();
  return {
    name,
    fingerprint: `${path}?${sorted}`,
    refuse(problem) {
      const message = `The idempotency key ${name} is ${problem}.`;
      const error = { type: 'idempotency_error', message } as const;
      return problem === 'in use'
        ? errorAnswer(409, { ...error, code: 'idempotency_key_in_use' })
        : errorAnswer(400, error);
    },
    keep: ({ status, body }) => JSON.stringify({ status, body }),
    repeat(kept) {
      const { status, body } = JSON.parse(kept) as Pick<Answer, 'status' | 'body'>;
      const { headers: usual } = jsonAnswer(status, {});
      return { status, headers: { ...usual, 'idempotent-replayed': 'true' }, body };
    },
  };
}

const failure: Protocol['failure'] = ({ status, headers, message, limitedBy, ...error }) => {
  if (status === 429 && error.code === undefined) return limited(limitedBy ?? 'global-rate', headers);
  const type = status < 500 ? 'invalid_request_error' : 'api_error';
  const usual =
    status === 403 ? missingPermission('rk_***', 'sandbox', 'refund_write') : 'An unknown error occurred.';
  const answer = errorAnswer(status, { type, message: message ?? usual, ...error });
  return { ...answer, headers: { ...answer.headers, ...headers } };
};

/** Stripe names the limit, but not when to come back. */
function limited(by: LimitedBy, headers: Record<string, string> = {}): Answer {
  const message =
    'Request rate limit exceeded. Learn more about rate limits here https://stripe.com/docs/rate-limits.';
  const answer = errorAnswer(429, { code: 'rate_limit', message });
  return { ...answer, headers: { ...answer.headers, 'stripe-rate-limited-reason': by, ...headers } };
}

const connectedAccount = z.string().regex(CONNECTED_ACCOUNT, 'must look like acct_...').optional();

function problem({ amount, capturedAmount = amount, currency, ...connect }: PaymentTerms): string | null {
  const { transferTo, applicationFee } = connect;
  const fee = applicationFee === undefined ? {} : { applicationFee };
  const amounts = Object.entries({ amount, capturedAmount, ...fee });
  const wrong = amounts.find(([, minor]) => !canExpress(minor, currency));
  if (wrong !== undefined) return `${wrong[0]}: Stripe cannot express ${wrong[1]} minor units of ${currency}`;
  if (transferTo !== undefined && connect.connectedAccount !== undefined)
    return 'transferTo: only a payment of the platform is transferred';
  if (applicationFee === undefined) return null;
  if (applicationFee > amount) return 'applicationFee: must not be more than the amount';
  return transferTo === undefined && connect.connectedAccount === undefined
    ? 'applicationFee: only a payment of a connected account, or with a transfer to one, has a fee'
    : null;
}

/** Stripe. A charge and its payment intent are one payment and share everything after the prefix. */
export const stripe = {
  name: 'stripe',
  title: 'Stripe',
  path: '/v1/',
  protocol: {
    admit: (call, ledger) => accountOf(call, ledger, routeOf(call)?.[2] ?? null),
    ...{ read, failure, malformed: () => jsonAnswer(200, { object: 'unexpected' }) },
  },
  payments: {
    fields: {
      id: z.string().regex(/^(ch|py|pi)_[A-Za-z0-9_]+$/, 'must look like ch_..., py_... or pi_...'),
      capturedAmount: z.int('must be a whole number of minor units').positive().optional(),
      paymentMethod: z.enum(['card', 'customer_balance', 'us_bank_account']).default('card'),
      card: z
        .string()
        .regex(/^\d{16}$/, 'must be a number of 16 digits')
        .optional(),
      ...{ connectedAccount, transferTo: connectedAccount },
      applicationFee: z.int('must be a whole number of minor units').positive().optional(),
      checkoutSession: z
        .string()
        .regex(/^cs_[A-Za-z0-9_]+$/, 'must look like cs_...')
        .optional(),
      invoice: z
        .string()
        .regex(/^in_[A-Za-z0-9_]+$/, 'must look like in_...')
        .optional(),
    },
    statuses: ['succeeded', 'pending', 'failed', 'uncaptured', 'disputed'],
    disputes: disputeStates,
    newId: () => randomId('ch_', 24),
    isPlausible: (id) => /^(ch|py|pi)_[A-Za-z0-9_]{3,}$/.test(id),
    // Refunds of bank transfers require action, and can be cancelled until then.
    unseenMethod: (id) => (id.includes('transfer') ? 'customer_balance' : 'card'),
    idsOf: (id) => [id.replace(/^pi_/, 'ch_'), `pi_${id.slice(3)}`],
    problem,
  },
  refundStatuses: {
    pending: {},
    requires_action: {},
    succeeded: {},
    failed: { isReturned: true },
    canceled: { isReturned: true },
  },
  webhooks: {
    keys: { secret: z.string().min(1), connectSecret: z.string().min(1).optional() },
    keysOf: ({ webhookSecret: secret = '', connectWebhookSecret: connectSecret = secret }) => ({
      secret,
      connectSecret,
    }),
    events: stripeEvents,
    paymentEvents: stripeDisputeEvents,
    signed: signedStripeEvent,
  },
  credentials: (environment: Environment, account?: string) => ({
    secretKey: `sk_${environment}_sandbox${account === undefined ? '' : `_at_${account}`}`,
    webhookSecret: `whsec_${environment}_sandbox`,
    connectWebhookSecret: `whsec_${environment}_connect_sandbox`,
  }),
} satisfies SandboxProcessor;
