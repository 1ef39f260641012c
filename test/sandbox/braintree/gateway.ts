import type { Account, Answer, Call, Execution, Gateway, Outage } from '../exchange.ts';
import type { Operation, Target } from '../faults.ts';
import { CREDIT_PREFIX, findPayment, namesOf, scopeOf } from '../ledger/payments.ts';
import type { Sandbox } from '../ledger/state.ts';
import { BraintreeRefusal, notFound } from './errors.ts';
import { refundSale } from './refund.ts';
import {
  authenticate,
  type BraintreeRequest,
  findCredit,
  searchCriteria,
  transactionParameters,
} from './request.ts';
import { oncePerKey } from './request-key.ts';
import { searchTransactions } from './search.ts';
import { voidTransaction } from './void.ts';
import { creditXml, saleXml, searchResultsXml, transactionPageXml, xmlAnswer } from './xml.ts';

const PAGE_SIZE = 50;

type Action = 'find' | 'refund' | 'void' | 'search-ids' | 'search';

const ROUTES: readonly [method: string, path: RegExp, action: Action][] = [
  ['POST', /^\/transactions\/advanced_search_ids$/, 'search-ids'],
  ['POST', /^\/transactions\/advanced_search$/, 'search'],
  ['GET', /^\/transactions\/([^/]+)$/, 'find'],
  ['POST', /^\/transactions\/([^/]+)\/refund$/, 'refund'],
  ['PUT', /^\/transactions\/([^/]+)\/void$/, 'void'],
];

const OUTAGE_STATUS: Readonly<Record<Outage, number>> = {
  'error-403': 403,
  'error-500': 500,
  'error-503': 503,
  'rate-limit': 429,
};

export function braintreeGateway(sandbox: Sandbox): Gateway {
  const inFlight = new Set<string>();
  const gateway: Gateway = {
    processor: 'braintree',
    admit: authenticate,
    targetOf: (call, account) => targetOf(sandbox, call, account),
    execute: (call, account, crash) => {
      const execution = sandbox.ledger.transact(() => execute(sandbox, inFlight, call, account));
      return crash ? { ...execution, answer: outage('error-500') } : execution;
    },
    outage,
    malformed: () => xmlAnswer(200, '<unexpected>malformed by the sandbox</unexpected>'),
  };
  return gateway;
}

function outage(kind: Outage): Answer {
  return xmlAnswer(OUTAGE_STATUS[kind], `<error>${kind} (injected by the sandbox)</error>`);
}

/** The same request means one thing for a sale and another for a credit, so the target decides. */
function targetOf(sandbox: Sandbox, call: Call, account: Account): Target {
  const { action, id } = routeOf(call);
  const scope = scopeOf('braintree', account.environment);
  const credit = findCredit(sandbox, scope, id);
  const operation = operationOf(call, action, id.startsWith(CREDIT_PREFIX) || credit !== undefined);
  return { operation, transactionIds: namesOf(sandbox, scope, credit?.paymentId ?? id) };
}

function operationOf(call: Call, action: Action | null, isCredit: boolean): Operation | null {
  switch (action) {
    case 'find':
      return isCredit ? 'refund.get' : 'transaction.get';
    case 'refund':
      return 'refund.create';
    case 'void':
      return isCredit ? 'refund.cancel' : 'refund.create';
    case 'search-ids':
    case 'search':
      // A lookup of one refund searches by order id.
      return call.body.includes('"order_id"') ? 'refund.find' : 'refund.list';
    default:
      return null;
  }
}

function execute(sandbox: Sandbox, inFlight: Set<string>, call: Call, account: Account): Execution {
  const { action, id } = routeOf(call);
  const scope = scopeOf('braintree', account.environment);
  const request: BraintreeRequest = { account, scope, id, body: call.body };
  try {
    if (action === 'refund' || action === 'void') return write(sandbox, inFlight, request, action);
    return { answer: read(sandbox, request, action), finished: () => undefined };
  } catch (error) {
    if (error instanceof BraintreeRefusal) return { answer: error.answer, finished: () => undefined };
    throw error;
  }
}

function write(
  sandbox: Sandbox,
  inFlight: Set<string>,
  request: BraintreeRequest,
  action: 'refund' | 'void',
): Execution {
  const parameters = transactionParameters(request.body);
  const work = action === 'refund' ? refundSale : voidTransaction;
  const claim = oncePerKey(sandbox.ledger, inFlight, request, action, parameters, () =>
    work(sandbox, request, parameters),
  );
  const answer = xmlAnswer(
    action === 'refund' ? 201 : 200,
    transactionXml(sandbox, request, claim.transactionId),
  );
  return { answer, finished: claim.finished };
}

function read(sandbox: Sandbox, request: BraintreeRequest, action: Action | null): Answer {
  switch (action) {
    case 'find':
      return xmlAnswer(200, transactionXml(sandbox, request, request.id));
    case 'search-ids': {
      const found = searchTransactions(sandbox, request.scope, searchCriteria(request.body));
      return xmlAnswer(
        200,
        searchResultsXml(
          found.map((transaction) => transaction.id),
          PAGE_SIZE,
        ),
      );
    }
    case 'search': {
      const found = searchTransactions(sandbox, request.scope, searchCriteria(request.body)).slice(
        0,
        PAGE_SIZE,
      );
      return xmlAnswer(
        200,
        transactionPageXml(
          found.map((transaction) => transaction.xml()),
          PAGE_SIZE,
        ),
      );
    }
    default:
      throw notFound();
  }
}

function transactionXml(sandbox: Sandbox, request: BraintreeRequest, id: string): string {
  const credit = findCredit(sandbox, request.scope, id);
  if (credit) return creditXml(credit);
  const sale = findPayment(sandbox, request.scope, id);
  if (sale === undefined) throw notFound();
  return saleXml(sandbox.ledger, sale);
}

function routeOf(call: Call): { action: Action | null; id: string } {
  const path = call.path.replace(/^\/merchants\/[^/]+/, '');
  for (const [method, pattern, action] of ROUTES) {
    const match = method === call.method ? pattern.exec(path) : null;
    if (match) return { action, id: decodeURIComponent(match[1] ?? '') };
  }
  return { action: null, id: '' };
}
