import type { Account, Answer, Call, Execution, Gateway, Outage } from '../exchange.ts';
import type { Operation, Target } from '../faults.ts';
import { namesOf, scopeOf } from '../ledger/payments.ts';
import { randomId, type Sandbox } from '../ledger/state.ts';
import { createRefund } from './create-refund.ts';
import {
  errorAnswer,
  forbiddenAnswer,
  jsonAnswer,
  type StripeErrorBody,
  StripeRefusal,
  serverErrorAnswer,
} from './errors.ts';
import { once, type Worked } from './idempotency.ts';
import { listDisputes, retrieveCharge, retrievePaymentIntent } from './payments.ts';
import { cancelRefund, listRefunds, retrieveRefund } from './refunds.ts';
import { authenticate, parseForm, type StripeRequest } from './request.ts';

interface Route {
  method: 'GET' | 'POST';
  path: RegExp;
  operation: Operation;
  handle: (sandbox: Sandbox, request: StripeRequest) => object;
}

const ROUTES: readonly Route[] = [
  { method: 'GET', path: /^\/v1\/charges\/([^/]+)$/, operation: 'transaction.get', handle: retrieveCharge },
  {
    method: 'GET',
    path: /^\/v1\/payment_intents\/([^/]+)$/,
    operation: 'transaction.get',
    handle: retrievePaymentIntent,
  },
  { method: 'POST', path: /^\/v1\/refunds$/, operation: 'refund.create', handle: createRefund },
  { method: 'GET', path: /^\/v1\/refunds$/, operation: 'refund.find', handle: listRefunds },
  { method: 'GET', path: /^\/v1\/refunds\/([^/]+)$/, operation: 'refund.get', handle: retrieveRefund },
  {
    method: 'POST',
    path: /^\/v1\/refunds\/([^/]+)\/cancel$/,
    operation: 'refund.cancel',
    handle: cancelRefund,
  },
  { method: 'GET', path: /^\/v1\/disputes$/, operation: 'transaction.get', handle: listDisputes },
];

const OUTAGES: Readonly<Record<Outage, () => Answer>> = {
  'error-403': forbiddenAnswer,
  'error-500': serverErrorAnswer,
  'error-503': () =>
    errorAnswer(503, apiError('Stripe is temporarily unavailable (injected by the sandbox).')),
  'rate-limit': () => {
    const message = 'Too many requests in too short a time (injected by the sandbox).';
    const error: StripeErrorBody = { type: 'invalid_request_error', code: 'rate_limit', message };
    return jsonAnswer(429, { error }, { 'retry-after': '1' });
  },
};

export function stripeGateway(sandbox: Sandbox): Gateway {
  const inUse = new Set<string>();
  const gateway: Gateway = {
    processor: 'stripe',
    admit: (call) => {
      const admitted = authenticate(call);
      return 'status' in admitted ? signed(admitted, newRequestId()) : admitted;
    },
    targetOf: (call, account) => targetOf(sandbox, call, account),
    execute: (call, account, crash) => execute(sandbox, inUse, call, account, crash),
    outage: (kind) => signed(OUTAGES[kind](), newRequestId()),
    malformed: () => signed(jsonAnswer(200, { unexpected: 'malformed by the sandbox' }), newRequestId()),
  };
  return gateway;
}

function execute(
  sandbox: Sandbox,
  inUse: Set<string>,
  call: Call,
  account: Account,
  crash: boolean,
): Execution {
  const requestId = newRequestId();
  const header = call.headers['idempotency-key'];
  const key = typeof header === 'string' && call.method === 'POST' ? header : null;
  const work = () => answerOf(sandbox, call, account, { requestId, idempotencyKey: key });
  const execution = sandbox.ledger.transact((): Execution => {
    if (key !== null)
      return once({ ledger: sandbox.ledger, inUse, account, call, key, requestId, crash }, work);
    const { answer } = work();
    return { answer: crash ? serverErrorAnswer() : answer, finished: () => undefined };
  });
  return { ...execution, answer: signed(execution.answer, requestId) };
}

function answerOf(sandbox: Sandbox, call: Call, account: Account, cause: StripeRequest['cause']): Worked {
  const route = routeOf(call);
  if (route === undefined) {
    const message = `Unrecognized request URL (${call.method}: ${call.path}).`;
    return { answer: errorAnswer(404, { type: 'invalid_request_error', message }), began: false };
  }
  const id = decodeURIComponent(route.path.exec(call.path)?.[1] ?? '');
  const form = parseForm(call.method === 'GET' ? call.query : call.body);
  try {
    return {
      answer: jsonAnswer(200, route.handle(sandbox, { account, call, cause, id, form })),
      began: true,
    };
  } catch (error) {
    if (!(error instanceof StripeRefusal)) throw error;
    return { answer: errorAnswer(error.status, error.body), began: !error.beforeExecution };
  }
}

/** The same path lists the refunds of a payment, and those of all. */
function listsEverything({ method, path, query }: Call): boolean {
  return method === 'GET' && path === '/v1/refunds' && !query.has('charge') && !query.has('payment_intent');
}

/** A request is about the payment that it names, or about that of the refund that it names. */
function targetOf(sandbox: Sandbox, call: Call, account: Account): Target {
  const scope = scopeOf('stripe', account.environment);
  const route = routeOf(call);
  const id = decodeURIComponent(route?.path.exec(call.path)?.[1] ?? '');
  const { charge, payment_intent: paymentIntent } = parseForm(
    call.method === 'GET' ? call.query : call.body,
  ).values;
  const named = sandbox.ledger.refund(scope, id)?.paymentId ?? charge ?? paymentIntent ?? id;
  const operation = listsEverything(call) ? 'refund.list' : (route?.operation ?? null);
  return { operation, transactionIds: namesOf(sandbox, scope, named) };
}

function routeOf(call: Call): Route | undefined {
  return ROUTES.find((route) => route.method === call.method && route.path.test(call.path));
}

function signed(answer: Answer, requestId: string): Answer {
  return { ...answer, headers: { ...answer.headers, 'request-id': requestId } };
}

function newRequestId(): string {
  return randomId('req_', 14);
}

function apiError(message: string): StripeErrorBody {
  return { type: 'api_error', message };
}
