import { createHmac } from 'node:crypto';
import { z } from 'zod';
import type { Account, Answer, Call, Gateway, Outage } from '../exchange.ts';
import type { Operation, Target } from '../faults.ts';
import type { Environment, Ledger, Payment, Refund } from '../ledger/ledger.ts';
import { declinesRefunds, existing, findPayment, namesOf, scopeOf } from '../ledger/payments.ts';
import { addRefund, randomId, type Sandbox } from '../ledger/state.ts';
import type { SandboxProcessor } from '../processor.ts';

/**
 * A processor that exists only here, to show that the core asks for capabilities: it takes refunds and reads payments, but can
 * neither be asked for a refund nor cancel one. Its signed events alone say how a refund ends. Requests are JSON, signed with the
 * account's secret.
 */
export const eventpay = {
  name: 'eventpay',
  title: 'Eventpay',
  path: '/eventpay/',
  gateway: eventpayGateway,
  payments: {
    fields: {
      id: existing(/^ep_\w+$/, 'must look like ep_...'),
      paymentMethod: z.enum(['card']).default('card'),
    },
    statuses: ['paid'],
    newId: () => randomId('ep_', 16),
    isPlausible: (id) => /^ep_\w{3,}$/.test(id),
    unseenMethod: 'card',
  },
  refundStatuses: { pending: { settlesTo: 'paid_out' }, paid_out: {}, bounced: { isReturned: true } },
  webhooks: {
    keys: { secret: z.string().min(1) },
    keysOf: ({ secret = '' }) => ({ secret }),
    events: (_ledger: Ledger, previous: Refund | null, refund: Refund) =>
      previous === null ? [] : [JSON.stringify(eventOf(refund))],
    signed: (body: string, { secret = '' }: Record<string, string>) => ({
      body,
      headers: { 'content-type': 'application/json', 'eventpay-signature': signatureOf(secret, body) },
    }),
  },
  credentials: (environment: Environment) => ({ account: environment, secret: `secret-of-${environment}` }),
} satisfies SandboxProcessor;

/** What an event says about a refund. */
function eventOf({ id, status, reference, paymentId, environment }: Refund) {
  const refund = { id, status, reference, payment: paymentId };
  return { id: randomId('epe_', 16), at: new Date().toISOString(), environment, refund };
}

/** Signs a body, or the path of a request without one. */
function signatureOf(secret: string, text: string): string {
  return createHmac('sha256', secret).update(text).digest('hex');
}

const outageStatus: Readonly<Record<Outage, number>> = {
  'error-403': 403,
  'error-500': 500,
  'error-503': 503,
  'rate-limit': 429,
};

function eventpayGateway(sandbox: Sandbox): Gateway {
  return {
    processor: 'eventpay',
    admit,
    targetOf: (call, account) => targetOf(sandbox, call, account),
    execute: (call, account, crash) => {
      const done = sandbox.ledger.transact(() => answerOf(sandbox, call, account));
      return { answer: crash ? failure(500, 'crashed') : done, finished: () => undefined };
    },
    outage: (kind) => failure(outageStatus[kind], kind),
    malformed: () => json(200, { unexpected: true }),
  };
}

function admit({ headers, body, path }: Call): Account | Answer {
  const environment = headers['eventpay-account'];
  if (environment !== 'test' && environment !== 'live') return failure(401, 'unknown_account');
  const { secret } = eventpay.credentials(environment);
  const isSigned = headers['eventpay-signature'] === signatureOf(secret, body || path);
  return isSigned ? { environment, id: `eventpay_${environment}` } : failure(401, 'bad_signature');
}

const refundBody = z.object({
  payment: z.string(),
  amount: z.int().positive(),
  currency: z.string(),
  reference: z.string(),
});

function targetOf(sandbox: Sandbox, { method, path, body }: Call, { environment }: Account): Target {
  const scope = scopeOf('eventpay', environment);
  const [operation, id]: [Operation, string] =
    method === 'POST'
      ? ['refund.create', refundBody.safeParse(JSON.parse(body)).data?.payment ?? '']
      : ['transaction.get', path.split('/').at(-1) ?? ''];
  return { operation, transactionIds: namesOf(sandbox, scope, id) };
}

function answerOf(sandbox: Sandbox, { method, path, body }: Call, { environment }: Account): Answer {
  const asked = method === 'POST' ? refundBody.parse(JSON.parse(body)) : null;
  const id = asked?.payment ?? decodeURIComponent(path.split('/').at(-1) ?? '');
  const payment = findPayment(sandbox, scopeOf('eventpay', environment), id);
  if (payment === undefined) return failure(404, 'no_payment');
  if (asked === null) return json(200, paymentJson(sandbox.ledger, payment));
  if (declinesRefunds(payment)) return failure(422, 'declined');
  const left = payment.amount - sandbox.ledger.refundedAmount(payment);
  if (asked.amount > left) return failure(422, left === 0 ? 'already_refunded' : 'amount_too_large');
  const refund = addRefund(
    sandbox,
    {
      ...scopeOf('eventpay', environment),
      id: randomId('epr_', 16),
      paymentId: payment.id,
      kind: 'refund',
      amount: asked.amount,
      currency: payment.currency,
      status: 'pending',
      reference: asked.reference,
      createdAt: sandbox.now(),
      driven: false,
      reason: null,
      metadata: {},
      failureReason: null,
    },
    null,
  );
  return json(201, refundJson(refund));
}

/** Says nothing about whose refunds they are. */
function paymentJson(ledger: Ledger, payment: Payment) {
  const { id, amount, currency, createdAt } = payment;
  const refunds = ledger.refundsOf(payment).map(refundJson);
  return { id, amount, currency, paid_at: new Date(createdAt).toISOString(), refunds };
}

function refundJson({ id, amount, currency, status }: Refund) {
  return { id, amount, currency, status };
}

function failure(status: number, code: string): Answer {
  return json(status, { code, message: `Eventpay answers ${code}.` });
}

function json(status: number, content: unknown): Answer {
  return { status, headers: { 'content-type': 'application/json' }, body: JSON.stringify(content) };
}
