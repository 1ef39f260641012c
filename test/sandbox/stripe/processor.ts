import { createHash } from 'node:crypto';
import { z } from 'zod';
import { type Account, type Answer, type Call, type Protocol, Refusal, type Request } from '../exchange.ts';
import type { Operation } from '../faults.ts';
import type { Environment, Ledger } from '../ledger.ts';
import type { SandboxProcessor } from '../processor.ts';
import { randomId } from '../random-id.ts';
import { canExpress } from './amounts.ts';
import { errorAnswer, jsonAnswer } from './answers.ts';
import { listDisputes, retrieveCharge, retrievePaymentIntent } from './payments.ts';
import { cancelRefund, createRefund, listRefunds, retrieveRefund } from './refunds.ts';
import { signedStripeEvent, stripeEvents } from './webhooks.ts';

/** A Stripe call that passed its credentials. */
export interface StripeRequest {
  ledger: Ledger;
  scope: { processor: 'stripe'; environment: Environment };
  /** The id in the path, '' where there is none. */
  id: string;
  /** Body of a POST, query of a GET. */
  form: URLSearchParams;
}

const ROUTES: readonly [route: RegExp, operation: Operation, handle: (request: StripeRequest) => object][] = [
  [/^GET \/v1\/charges\/([^/]+)$/, 'transaction.get', retrieveCharge],
  [/^GET \/v1\/payment_intents\/([^/]+)$/, 'transaction.get', retrievePaymentIntent],
  [/^GET \/v1\/disputes$/, 'transaction.get', listDisputes],
  [/^POST \/v1\/refunds$/, 'refund.create', createRefund],
  [/^GET \/v1\/refunds$/, 'refund.find', listRefunds],
  [/^GET \/v1\/refunds\/([^/]+)$/, 'refund.get', retrieveRefund],
  [/^POST \/v1\/refunds\/([^/]+)\/cancel$/, 'refund.cancel', cancelRefund],
];

/** The secret key is the account, as in Stripe; curl may send it as a basic user name. */
function admit(call: Call): Account | Answer {
  const [scheme, value = ''] = (call.headers.authorization ?? '').split(' ');
  const key = scheme === 'Basic' ? Buffer.from(value, 'base64').toString('utf8').split(':')[0] : value;
  const mode = /^sk_(test|live)_\w+$/.exec(key ?? '')?.[1];
  if (key === undefined || mode === undefined || key.includes('invalid')) {
    return errorAnswer(401, { message: `Invalid API Key provided: ${(key ?? '').slice(0, 8)}***` });
  }
  if (key.includes('forbidden')) return failure(403);
  const digest = createHash('sha256').update(key).digest('hex').slice(0, 16);
  return { environment: mode === 'live' ? 'live' : 'test', id: `stripe_${digest}` };
}

/** A request is about the payment that it names, or about that of the refund that it names. */
function read(ledger: Ledger, call: Call, { environment }: Account): Request {
  const called = `${call.method} ${call.path}`;
  const route = ROUTES.find(([pattern]) => pattern.test(called));
  const id = decodeURIComponent(route?.[0].exec(called)?.[1] ?? '');
  const form = call.method === 'GET' ? call.query : new URLSearchParams(call.body);
  const scope = { processor: 'stripe', environment } as const;
  const named = form.get('charge') ?? form.get('payment_intent');
  // The same path lists the refunds of a payment, and those of all.
  const listsAll = route?.[2] === listRefunds && named === null;
  return {
    operation: listsAll ? 'refund.list' : (route?.[1] ?? null),
    paymentId: ledger.refund(scope, id)?.paymentId ?? named ?? id,
    key: keyOf(call, form),
    perform(crash) {
      const { answer, isJudged } = answerTo(route?.[2], { ledger, scope, id, form });
      const { status, body } = crash ? failure(500) : answer;
      return { answer, kept: isJudged ? JSON.stringify({ status, body }) : undefined };
    },
  };
}

/** Parameters are checked before work begins; what fails there is not judged. */
function answerTo(handle: ((request: StripeRequest) => object) | undefined, request: StripeRequest) {
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
    repeat(kept) {
      const { status, body } = JSON.parse(kept) as Pick<Answer, 'status' | 'body'>;
      const { headers: usual } = jsonAnswer(status, {});
      return { status, headers: { ...usual, 'idempotent-replayed': 'true' }, body };
    },
  };
}

const failure: Protocol['failure'] = (status) => {
  switch (status) {
    case 403:
      return errorAnswer(403, { message: 'The key does not have the required permissions.' });
    case 429: {
      const answer = errorAnswer(429, { code: 'rate_limit', message: 'Too many requests.' });
      return { ...answer, headers: { ...answer.headers, 'retry-after': '1' } };
    }
    default:
      return errorAnswer(status, { type: 'api_error', message: 'An unknown error occurred.' });
  }
};

/** Stripe. A charge and its payment intent are one payment and share everything after the prefix. */
export const stripe = {
  name: 'stripe',
  title: 'Stripe',
  path: '/v1/',
  protocol: { admit, read, failure, malformed: () => jsonAnswer(200, { object: 'unexpected' }) },
  payments: {
    fields: {
      id: z.string().regex(/^(ch|py|pi)_[A-Za-z0-9_]+$/, 'must look like ch_..., py_... or pi_...'),
      capturedAmount: z.int('must be a whole number of minor units').positive().optional(),
      paymentMethod: z.enum(['card', 'customer_balance']).default('card'),
    },
    statuses: ['succeeded', 'failed', 'uncaptured', 'disputed'],
    newId: () => randomId('ch_', 24),
    isPlausible: (id) => /^(ch|py|pi)_[A-Za-z0-9_]{3,}$/.test(id),
    // Refunds to a customer balance require action, so that a first refund can be cancelled.
    unseenMethod: 'customer_balance',
    idsOf: (id) => [id.replace(/^pi_/, 'ch_'), `pi_${id.slice(3)}`],
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
