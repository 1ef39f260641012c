import { createHmac } from 'node:crypto';
import { z } from 'zod';
import type { Account, Answer, Call, Request } from '../exchange.ts';
import {
  declinesRefunds,
  type Environment,
  type Ledger,
  type Payment,
  type Refund,
  refundOf,
} from '../ledger.ts';
import type { SandboxProcessor } from '../processor.ts';
import { randomId } from '../random-id.ts';

/**
 * A processor that exists only here, to show that the core asks for capabilities: it takes refunds and reads payments, but can
 * neither be asked for a refund nor cancel one. Its signed events alone say how a refund ends. Requests are JSON, signed with the
 * account's secret.
 */
export const eventpay = {
  name: 'eventpay',
  title: 'Eventpay',
  path: '/eventpay/',
  protocol: {
    admit,
    read,
    failure: ({ status }) => failure(status, `error_${status}`),
    malformed: () => json(200, { unexpected: true }),
  },
  payments: {
    fields: {
      id: z.string().regex(/^ep_\w+$/, 'must look like ep_...'),
      paymentMethod: z.enum(['card']).default('card'),
    },
    statuses: ['paid'],
    newId: () => randomId('ep_', 16),
    isPlausible: (id) => /^ep_\w{3,}$/.test(id),
    unseenMethod: () => 'card',
  },
  refundStatuses: { pending: {}, paid_out: {}, bounced: { isReturned: true } },
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

function admit({ headers, body, path }: Call): Account | Answer {
  const environment = headers['eventpay-account'];
  if (environment !== 'test' && environment !== 'live') return failure(401, 'unknown_account');
  const { secret } = eventpay.credentials(environment);
  const isSigned = headers['eventpay-signature'] === signatureOf(secret, body || path);
  return isSigned ? { environment, id: `eventpay_${environment}` } : failure(401, 'bad_signature');
}

const refundBody = z.object({ payment: z.string(), amount: z.int().positive(), reference: z.string() });

type RefundBody = z.infer<typeof refundBody>;

function read(ledger: Ledger, { method, path, body }: Call, { environment }: Account): Request {
  const asked = method === 'POST' ? refundBody.parse(JSON.parse(body)) : null;
  const paymentId = asked?.payment ?? decodeURIComponent(path.split('/').at(-1) ?? '');
  const operation = asked === null ? 'transaction.get' : 'refund.create';
  return {
    ...{ operation, endpoint: operation, paymentId, key: null },
    perform() {
      const payment = ledger.findPayment({ processor: 'eventpay', environment }, paymentId);
      if (payment === undefined) return { answer: failure(404, 'no_payment') };
      if (asked !== null) return { answer: refund(ledger, payment, asked) };
      // Says nothing about whose refunds they are.
      const { id, amount, currency, createdAt } = payment;
      const refunds = ledger.refundsOf(payment).map(refundJson);
      const paidAt = new Date(createdAt).toISOString();
      return { answer: json(200, { id, amount, currency, paid_at: paidAt, refunds }) };
    },
  };
}

function refund(ledger: Ledger, payment: Payment, { amount, reference }: RefundBody): Answer {
  if (declinesRefunds(payment)) return failure(422, 'declined');
  const left = payment.amount - ledger.refundedAmount(payment);
  if (amount > left) return failure(422, left === 0 ? 'already_refunded' : 'amount_too_large');
  const [id, status, createdAt] = [randomId('epr_', 16), 'pending', ledger.now()];
  const refund = refundOf(payment, { id, amount, status, reference, createdAt, becomes: 'paid_out' });
  return json(201, refundJson(ledger.addRefund(refund)));
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
