import { UnexpectedAnswerError } from '../contract/answer.ts';
import type { BraintreeClient } from './client.ts';
import { outcomeOf } from './map-error.ts';
import { type BraintreeTransaction, readTransaction } from './replies.ts';

const mostRefunds = 500;
const findsAtOnce = 5;

/** The credits of a sale, a few at a time. An incomplete list would prove nothing, so one failure fails all. */
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
    // What the sale lists exists; that it is not found must not pass for an answer about the sale.
    if (outcomeOf(error).kind !== 'refused') throw error;
    throw new UnexpectedAnswerError(`The refund ${id} is listed and cannot be found.`, { cause: error });
  }
}
