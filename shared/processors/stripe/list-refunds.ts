import { Deadline } from '../contract/calls.ts';
import { asListProblem, UnexpectedAnswerError } from '../contract/outcome.ts';
import type { CallOptions, ListingPage, ListingWindow, ReadResult } from '../contract/processor.ts';
import type { StripeAccess } from './client.ts';
import { outcomeOf } from './map-error.ts';
import { readListedPage } from './replies.ts';

const pageSize = 100;

/**
 * A page of the refunds of a window, newest first. Refunds created while the list is read come before the cursor, so none is
 * skipped.
 * @param after the last refund of the previous page.
 */
export async function listRefunds(
  access: StripeAccess,
  window: ListingWindow,
  after: string | null,
  options: CallOptions,
): Promise<ReadResult<ListingPage>> {
  try {
    const reply = await access.stripe.refunds.list(
      {
        created: { gte: Math.floor(window.from.getTime() / 1000), lt: Math.ceil(window.to.getTime() / 1000) },
        limit: pageSize,
        ...(after === null ? {} : { starting_after: after }),
      },
      access.within(new Deadline(options)),
    );
    const { refunds, last, hasMore } = readListedPage(reply);
    return { kind: 'found', value: { refunds, next: nextPage(access, window, last, hasMore) } };
  } catch (error) {
    return asListProblem(outcomeOf(error));
  }
}

function nextPage(
  access: StripeAccess,
  window: ListingWindow,
  last: string | undefined,
  hasMore: boolean,
): ListingPage['next'] {
  if (!hasMore) return null;
  if (last === undefined)
    throw new UnexpectedAnswerError('The list of refunds continues after an empty page.');
  return (options) => listRefunds(access, window, last, options);
}
