import { peopleBehind } from '../../people/actors.ts';
import type { Database, RefundEvent } from '../../platform/database.ts';

/** An actor as in timelines, and the person behind it: for a key, the person who created it. */
export interface Principal {
  actor: string;
  person: string;
}

/**
 * Why an approver may not approve a refund, as a message to the approver; null when they may. An approval takes two people, and a key acts
 * for the person behind it.
 */
export function approvalRefusal(requester: Principal, approver: Principal): string | null {
  if (requester.person !== approver.person) return null;
  if (approver.actor.startsWith('key:')) {
    const who = requester.actor === approver.actor ? 'This API key' : 'The person behind this API key';
    return `${who} requested this refund, so someone else must approve it: with a key that another person created, or in the dashboard. This key can reject it.`;
  }
  const whose =
    requester.actor === approver.actor
      ? 'You requested this refund'
      : 'An API key of yours requested this refund';
  return `${whose}, so someone else must approve it. You can reject it.`;
}

/** The same for actors as in timelines. @param requested the first entry of the refund's timeline. */
export async function readApprovalRefusal(
  db: Database,
  requested: Pick<RefundEvent, 'actor'>,
  approver: string,
): Promise<string | null> {
  const people = await peopleBehind(db, [requested.actor, approver]);
  const principalOf = (actor: string) => ({ actor, person: people.get(actor) ?? actor });
  return approvalRefusal(principalOf(requested.actor), principalOf(approver));
}
