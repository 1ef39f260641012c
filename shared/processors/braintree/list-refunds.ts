import { asListProblem, UnexpectedAnswerError } from '../contract/outcome.ts';
import type {
  CallOptions,
  ListedRefund,
  ListingPage,
  ListingWindow,
  ReadResult,
} from '../contract/processor.ts';
import type { BraintreeClient, TransactionSearch } from './client.ts';
import { outcomeOf } from './map-error.ts';
import {
  type BraintreeTransaction,
  isVoided,
  readListed,
  readPage,
  readSearch,
  readTransaction,
  toRefund,
  voidAsRefund,
} from './replies.ts';

/** The part of a client in use. */
type SearchingClient = Pick<BraintreeClient, 'searchIds' | 'searchPage' | 'find'>;

/** Braintree's limit per page. */
const pageSize = 50;

/** Braintree cuts off search results beyond a limit without saying so. The limit has never been lower than this. */
const searchLimit = 10_000;

/** A search for credits by creation, or for sales by the time of their void; whole seconds, both ends included. */
interface Search {
  what: 'credits' | 'voids';
  fromSecond: number;
  toSecond: number;
}

/** The remaining searches and ids to read. */
interface Progress {
  searches: readonly Search[];
  ids: readonly string[];
}

/** Lists the refunds of a window: credits and voided sales. */
export async function listRefunds(
  connect: (options: CallOptions) => SearchingClient,
  { from, to }: ListingWindow,
  options: CallOptions,
): Promise<ReadResult<ListingPage>> {
  const span = spanOf(from, to);
  const searches: Search[] = [
    { what: 'credits', ...span },
    { what: 'voids', ...span },
  ];
  return await goOn(connect, { searches, ids: [] }, options);
}

/** Reads the next page of ids, or makes the next search. */
async function goOn(
  connect: (options: CallOptions) => SearchingClient,
  progress: Progress,
  options: CallOptions,
): Promise<ReadResult<ListingPage>> {
  try {
    const client = connect(options);
    const refunds =
      progress.ids.length === 0 ? [] : await readRefunds(client, progress.ids.slice(0, pageSize));
    const left =
      progress.ids.length === 0
        ? await search(client, progress.searches)
        : { ...progress, ids: progress.ids.slice(pageSize) };
    const isComplete = left.ids.length === 0 && left.searches.length === 0;
    const next: ListingPage['next'] = isComplete ? null : (callOptions) => goOn(connect, left, callOptions);
    return { kind: 'found', value: { refunds, next } };
  } catch (error) {
    return asListProblem(outcomeOf(error));
  }
}

/** A search that may have been cut off is repeated in two halves. */
async function search(client: SearchingClient, [first, ...others]: readonly Search[]): Promise<Progress> {
  if (first === undefined) return { searches: [], ids: [] };
  const ids = readSearch(await client.searchIds(criteriaOf(first)));
  if (ids.length < searchLimit) return { searches: others, ids };
  const { what, fromSecond, toSecond } = first;
  if (fromSecond >= toSecond) {
    throw new UnexpectedAnswerError(`Braintree made more ${what} in one second than a search can show.`);
  }
  const middle = Math.floor((fromSecond + toSecond) / 2);
  const halves = [
    { what, fromSecond, toSecond: middle },
    { what, fromSecond: middle + 1, toSecond },
  ];
  return { searches: [...halves, ...others], ids: [] };
}

/** The search for the credits of a window. */
export function creditsOf({ from, to }: ListingWindow): TransactionSearch {
  return criteriaOf({ what: 'credits', ...spanOf(from, to) });
}

/** Whole seconds, both ends included. */
function spanOf(from: Date, to: Date): Pick<Search, 'fromSecond' | 'toSecond'> {
  return {
    fromSecond: Math.floor(from.getTime() / 1000),
    toSecond: Math.ceil(to.getTime() / 1000) - 1,
  };
}

function criteriaOf({ what, fromSecond, toSecond }: Search): TransactionSearch {
  const span = { min: isoOf(fromSecond), max: isoOf(toSecond) };
  return what === 'credits'
    ? { type: ['credit'], createdAt: span }
    : { type: ['sale'], status: ['voided'], voidedAt: span };
}

function isoOf(second: number): string {
  return new Date(second * 1000).toISOString();
}

/** A transaction that is missing on the page is read by its id: an incomplete list would prove nothing. */
async function readRefunds(client: SearchingClient, ids: readonly string[]): Promise<ListedRefund[]> {
  const found = readPage(await client.searchPage({ ids }));
  const known = new Set(found.map(({ id }) => id));
  for (const id of ids) if (!known.has(id)) found.push(readListed(await client.find(id)));
  return found.flatMap(({ transaction }) => (transaction === null ? [] : asListed(transaction)));
}

/** Leaves out credits without a sale, and sales that no void has returned: they refund no payment. */
function asListed(transaction: BraintreeTransaction): ListedRefund[] {
  if (transaction.type === 'sale') {
    if (!isVoided(transaction)) return [];
    return [{ ...voidAsRefund(transaction, null), transactionIds: [transaction.id] }];
  }
  const saleId = transaction.refundedTransactionId ?? '';
  return saleId === '' ? [] : [{ ...toRefund(transaction, saleId), transactionIds: [saleId] }];
}

const mostRefunds = 500;
const findsAtOnce = 5;

/** The credits of a sale, a few at a time. An incomplete list would prove nothing, so one failure fails the call. */
export async function findCredits(
  client: BraintreeClient,
  { id, refundIds }: BraintreeTransaction,
): Promise<BraintreeTransaction[]> {
  const ids = refundIds ?? [];
  if (ids.length > mostRefunds) throw new UnexpectedAnswerError(`${id} has ${ids.length} refunds.`);
  const credits: BraintreeTransaction[] = [];
  for (let start = 0; start < ids.length; start += findsAtOnce) {
    const some = ids.slice(start, start + findsAtOnce);
    credits.push(...(await Promise.all(some.map((each) => findCredit(client, each)))));
  }
  return credits;
}

async function findCredit(client: BraintreeClient, id: string): Promise<BraintreeTransaction> {
  try {
    return readTransaction(await client.find(id));
  } catch (error) {
    // The sale lists it, so it exists; a 404 must not count as an answer about the sale.
    if (outcomeOf(error).kind !== 'refused') throw error;
    throw new UnexpectedAnswerError(`The refund ${id} is listed but cannot be read.`, { cause: error });
  }
}
