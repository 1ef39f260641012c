import { z } from 'zod';
import { type Account, type Answer, type Call, Refusal, type Request, scopeOf } from '../exchange.ts';
import type { Failure, Operation } from '../faults.ts';
import type { Environment, Ledger, Scope } from '../ledger.ts';
import type { SandboxProcessor } from '../processor.ts';
import { randomId } from '../random-id.ts';
import { creditXml, disputeStates, saleXml } from './objects.ts';
import { declined, invalid, notFound } from './refusals.ts';
import { searchBody, searchTransactions } from './search.ts';
import {
  findCredit,
  findSale,
  MAX_KEY_LENGTH,
  readOptions,
  refundSale,
  voidTransaction,
} from './transactions.ts';
import { braintreeNotifications, disputeNotifications, signedNotification } from './webhooks.ts';
import { apiErrorXml, element, searchResultsXml, transactionPageXml, xmlAnswer } from './xml.ts';

const PAGE_SIZE = 50;

/** A Braintree call that passed its credentials. */
export interface BraintreeRequest {
  ledger: Ledger;
  scope: Scope;
  /** The id in the path, '' where there is none. */
  id: string;
  /** The body as JSON. */
  body: unknown;
}

type Action = 'find' | 'refund' | 'void' | 'search-ids' | 'search';

const ROUTES: readonly [route: RegExp, action: Action][] = [
  [/^POST \/transactions\/advanced_search_ids$/, 'search-ids'],
  [/^POST \/transactions\/advanced_search$/, 'search'],
  [/^GET \/transactions\/([^/]+)$/, 'find'],
  [/^POST \/transactions\/([^/]+)\/refund$/, 'refund'],
  [/^PUT \/transactions\/([^/]+)\/void$/, 'void'],
];

/** The merchant id in the path is the account, and the public key says whether it is the live one. */
function admit(call: Call): Account | Answer {
  const merchantId = /^\/merchants\/([^/]+)\//.exec(call.path)?.[1];
  const encoded = /^Basic (\S+)$/i.exec(call.headers.authorization ?? '')?.[1] ?? '';
  const credentials = Buffer.from(encoded, 'base64').toString('utf8');
  if (!merchantId || !/^.+:.+$/.test(credentials) || credentials.includes('invalid')) {
    return xmlAnswer(401, '<error>credentials are wrong</error>');
  }
  if (credentials.includes('forbidden')) return failure({ status: 403 });
  const environment = credentials.startsWith('live_') ? 'live' : 'test';
  const account = /^at_(.+)$/.exec(merchantId)?.[1];
  return { environment, id: `braintree_${environment}_${merchantId}`, account };
}

function read(ledger: Ledger, call: Call, account: Account): Request {
  const called = `${call.method} ${call.path.replace(/^\/merchants\/[^/]+/, '')}`;
  const [route, action = null] = ROUTES.find(([pattern]) => pattern.test(called)) ?? [];
  const id = decodeURIComponent(route?.exec(called)?.[1] ?? '');
  const scope: Scope = { ...scopeOf(account), processor: 'braintree' };
  const request = { ledger, scope, id, body: call.body === '' ? {} : JSON.parse(call.body) };
  const credit = findCredit(request);
  return {
    endpoint: String(route),
    operation: operationOf(call, action, credit !== undefined || id.startsWith('credit_')),
    paymentId: credit?.paymentId ?? id,
    key: action === 'refund' || action === 'void' ? keyOf(request, action) : null,
    perform() {
      try {
        return perform(request, action);
      } catch (error) {
        // A request that came as far as being judged spends its key; one about an unknown transaction does not.
        if (error instanceof Refusal) return { answer: error.answer, kept: error.isJudged ? '' : undefined };
        throw error;
      }
    },
  };
}

/** The same request means one thing for a sale and another for a credit, so the target decides. */
function operationOf(call: Call, action: Action | null, isCredit: boolean): Operation | null {
  switch (action) {
    case 'find':
      return isCredit ? 'refund.get' : 'transaction.get';
    case 'refund':
      return 'refund.create';
    case 'void':
      return isCredit ? 'refund.cancel' : 'refund.create';
    case null:
      return null;
    default:
      // A lookup of one refund searches by order id.
      return call.body.includes('"order_id"') ? 'refund.find' : 'refund.list';
  }
}

/**
 * The same request again gets the transaction of the first one as it is now, also one that was declined. Another request with the
 * key is refused, and so is any request after a rejected one, of which nothing is kept.
 */
function keyOf(request: BraintreeRequest, action: Action): Request['key'] {
  const { api_request_key: name, ...asked } = readOptions(request.body);
  // Refused as it is read, so that it names no request.
  if (name === undefined || name.length > MAX_KEY_LENGTH) return null;
  return {
    name,
    fingerprint: JSON.stringify([action, request.id, asked]),
    refuse: (problem) => invalid(request.id, problem === 'in use' ? '915233' : '915232').answer,
    keep: () => undefined,
    repeat: (kept) =>
      kept === '' ? invalid(request.id, '915234').answer : shown({ ...request, id: kept }, action),
  };
}

function perform(request: BraintreeRequest, action: Action | null): { answer: Answer; kept?: string } {
  switch (action) {
    case 'find':
      return { answer: shown(request, action) };
    case 'refund':
    case 'void': {
      const { id } = (action === 'refund' ? refundSale : voidTransaction)(request);
      return { answer: shown({ ...request, id }, action), kept: id };
    }
    case null:
      throw notFound();
  }
  const found = searchTransactions(request.ledger, request.scope, searchBody.parse(request.body).search);
  const xml =
    action === 'search-ids'
      ? searchResultsXml(
          found.map(({ id }) => id),
          PAGE_SIZE,
        )
      : transactionPageXml(
          found.slice(0, PAGE_SIZE).map((transaction) => transaction.xml()),
          PAGE_SIZE,
        );
  return { answer: xmlAnswer(200, xml) };
}

/** The transaction as it is now. */
function shown(request: BraintreeRequest, action: Action): Answer {
  const { ledger } = request;
  const credit = findCredit(request);
  const xml = credit === undefined ? saleXml(ledger, findSale(request)) : creditXml(ledger, credit);
  if (action === 'refund' && credit?.kind === 'decline') return declined(credit.paymentId, xml);
  return xmlAnswer(action === 'refund' ? 201 : 200, xml);
}

/** With 422 and a code, a validation error. */
function failure({ status, code, message = `${status} (injected by the sandbox)` }: Failure): Answer {
  if (status !== 422 || code === undefined) return xmlAnswer(status, element('error', message));
  return xmlAnswer(422, apiErrorXml('', message, [{ code, attribute: 'base', message }], ''));
}

export const braintree = {
  name: 'braintree',
  title: 'Braintree',
  path: '/merchants/',
  protocol: { admit, read, failure, malformed: () => xmlAnswer(200, '<unexpected/>') },
  payments: {
    fields: {
      id: z
        .string()
        .regex(
          /^(?!credit_)[A-Za-z0-9_-]{1,36}$/,
          'must be 1 to 36 letters, digits, _ or -, not starting with credit_',
        ),
      paymentMethod: z.enum(['card', 'us_bank_account']).default('card'),
      orderId: z.string().min(1).max(255).optional(),
    },
    statuses: [
      'settled',
      'settling',
      'submitted_for_settlement',
      'authorized',
      'disputed',
      'settled_in_parts',
      'processor_declined',
    ],
    disputes: disputeStates,
    newId: () => randomId('', 16),
    isPlausible: (id) => /^(?!(ch|py|pi|re|pyr|credit)_)[A-Za-z0-9_-]{3,36}$/.test(id),
    unseenMethod: () => 'card',
  },
  refundStatuses: {
    authorized: {},
    submitted_for_settlement: {},
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
    paymentEvents: disputeNotifications,
    signed: signedNotification,
  },
  credentials: (environment: Environment, account?: string) => ({
    merchantId: account === undefined ? 'sandbox' : `at_${account}`,
    publicKey: `${environment}_public`,
    privateKey: 'private',
  }),
} satisfies SandboxProcessor;
