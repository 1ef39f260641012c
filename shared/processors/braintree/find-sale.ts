import { asReadProblem, processorFailure } from '../contract/outcome.ts';
import type { Ambiguous, ReadResult } from '../contract/processor.ts';
import type { BraintreeClient } from './client.ts';
import { outcomeOf } from './map-error.ts';
import { type BraintreeTransaction, mapStatus, readPage, readSearch, readTransaction } from './replies.ts';

/** What an id of a payment stands for: a sale, unless the id is a credit's. */
export type FoundSale = ReadResult<BraintreeTransaction> | Ambiguous;

type Search = Pick<BraintreeClient, 'find' | 'searchIds' | 'searchPage'>;

/** Of more sales with one order id it does not matter which they are. */
const mostSales = 10;

/**
 * Finds a sale by its id, by its id in Braintree's GraphQL API, or by an order id that names one sale. A sale that failed does not count
 * beside one that did not, because the customer tried again.
 * @param leaveMs time before the deadline that is kept for the next request.
 */
export async function findSale(client: Search, id: string, leaveMs = 0): Promise<FoundSale> {
  const legacyId = legacyIdOf(id);
  const found = await readSale(client, legacyId ?? id, leaveMs);
  if (found.kind === 'found' && legacyId !== null && found.value.globalId !== id) return notFound(id);
  return found.kind === 'not-found' ? await findByOrderId(client, id, found, leaveMs) : found;
}

async function readSale(client: Search, id: string, leaveMs: number): Promise<FoundSale> {
  try {
    return { kind: 'found', value: readTransaction(await client.find(id, leaveMs)) };
  } catch (error) {
    return asReadProblem(outcomeOf(error));
  }
}

/** @param otherwise the answer when no sale has it. */
async function findByOrderId(
  client: Search,
  orderId: string,
  otherwise: FoundSale,
  leaveMs: number,
): Promise<FoundSale> {
  if (!isOrderId(orderId)) return otherwise;
  try {
    const search = { orderId: { is: orderId }, type: ['sale'] };
    const ids = readSearch(await client.searchIds(search, leaveMs)).slice(0, mostSales);
    const [only, ...others] = ids;
    if (only === undefined) return otherwise;
    if (others.length === 0) return await readSale(client, only, leaveMs);
    const sales = readPage(await client.searchPage({ ...search, ids }, leaveMs));
    const counted = sales.filter(
      ({ transaction }) => transaction && mapStatus(transaction.status) !== 'failed',
    );
    const [sale] = counted;
    if (counted.length === 1 && sale?.transaction) return { kind: 'found', value: sale.transaction };
    return ambiguous(orderId, counted.length === 0 ? ids : counted.map((each) => each.id));
  } catch (error) {
    const problem = asReadProblem(outcomeOf(error));
    // A role that may not search may still read every sale.
    return problem.kind === 'misconfigured' && problem.scope === 'ability' ? otherwise : problem;
  }
}

/** Nothing is searched for what no shop writes as an order id. */
export function isOrderId(id: string): boolean {
  return /^[A-Za-z0-9#][A-Za-z0-9#._:-]{0,254}$/.test(id);
}

/**
 * The id of a transaction in the SDK, from its id in the GraphQL API; null for any other id. What it is made of is not documented, so the
 * transaction has to confirm it.
 */
function legacyIdOf(id: string): string | null {
  if (!/^dHJhbnNhY3Rpb25f[A-Za-z0-9_-]+$/.test(id)) return null;
  const [, legacyId = null] =
    /^transaction_([A-Za-z0-9_-]+)$/.exec(Buffer.from(id, 'base64url').toString()) ?? [];
  return legacyId;
}

function notFound(id: string): FoundSale {
  return { kind: 'not-found', failure: processorFailure('notFoundError', `Braintree has no payment ${id}.`) };
}

function ambiguous(orderId: string, transactionIds: readonly string[]): Ambiguous {
  const message = `Several payments have the order id ${orderId}. Name one of them: ${transactionIds.join(', ')}.`;
  return { kind: 'ambiguous', failure: processorFailure('several_payments', message), transactionIds };
}
