import { peopleBehind } from '../../audit/actors.ts';
import type { Refund, Stores } from '../../platform/database.ts';

/** An actor as in timelines, and the person behind it: for a key, the person who created it. */
interface Principal {
  actor: string;
  person: string;
}

/** What an organization's rule of two people depends on. */
export interface Circumstances {
  /** For so many days after an invitation was accepted, the people whom it connects count as one; 0 for no such rule. */
  days: number;
  /** Those who invited and those who accepted, within these days, and when that ends, in ISO 8601. */
  invitations: readonly (readonly [inviter: string, invited: string, endsAt: string])[];
  /** Members, each with another user who has the same address: one whom a provider made, beside the person's own. */
  sameAddress: readonly (readonly [string, string])[];
  /** The members who can approve refunds. */
  approvers: readonly string[];
  /**
   * Whether the person who requested the refund was deleted at that moment: `user delete` refuses while requests await approval. The
   * person may have come back as another user.
   */
  isRequesterDeleted: boolean;
}

/**
 * Why an approver may not approve a refund, as a message to the approver; null when they may. An approval takes two people. A key acts
 * for the person behind it, and people whom recent invitations connect, also through others, may be one person with several
 * accounts.
 */
export function approvalRefusal(
  requester: Principal,
  approver: Principal,
  { days, invitations, sameAddress, approvers, isRequesterDeleted }: Circumstances,
): string | null {
  const isKey = approver.actor.startsWith('key:');
  const reject = `${isKey ? 'This key' : 'You'} can reject it.`;
  if (isRequesterDeleted) {
    return `The user who requested this refund was deleted, so no one can approve it. ${reject}`;
  }
  const connected = connectedWith(requester.person, [...invitations, ...sameAddress]);
  if (!connected.has(approver.person)) return null;
  const shares = connectedWith(requester.person, sameAddress).has(approver.person);
  const why = reasonFor(requester, approver, shares ? null : days);
  if (approvers.every((each) => connected.has(each))) {
    const isConnecting = days > 0 && requester.person.startsWith('user:');
    const wait = isConnecting ? `, who can approve it ${daysInWords(days)} after joining` : '';
    return `${why}, and no other member can approve it. An owner or admin can invite another member${wait}. ${reject}`;
  }
  if (!isKey) return `${why}. Ask another member to approve it. ${reject}`;
  return `${why}, so someone else must approve it: with a key that another person created, or in the dashboard. ${reject}`;
}

/** The person, and everyone whom the pairs connect with them, whoever invited whom. */
function connectedWith(
  person: string,
  pairs: readonly (readonly [string, string, ...unknown[]])[],
): ReadonlySet<string> {
  const connected = new Set([person]);
  // The loop also visits what is added meanwhile.
  for (const each of connected) {
    for (const [inviter, invited] of pairs) {
      if (inviter === each) connected.add(invited);
      if (invited === each) connected.add(inviter);
    }
  }
  return connected;
}

/** @param days how long invitations connect; null for two with one address. */
function reasonFor(requester: Principal, approver: Principal, days: number | null): string {
  const isKey = approver.actor.startsWith('key:');
  if (requester.person !== approver.person) {
    const who = isKey ? 'The person behind this API key' : 'You';
    if (days === null) return `${who} and the requester of this refund have the same address`;
    return `${who} and the requester of this refund are connected by an invitation that was accepted in the last ${daysInWords(days)}`;
  }
  if (isKey) {
    const who = requester.actor === approver.actor ? 'This API key' : 'The person behind this API key';
    return `${who} requested this refund`;
  }
  return requester.actor === approver.actor
    ? 'You requested this refund'
    : 'An API key of yours requested this refund';
}

function daysInWords(days: number): string {
  return days === 1 ? '1 day' : `${days} days`;
}

/**
 * The same for a stored refund.
 * @param actor who requested it, the first of its timeline.
 */
export async function readApprovalRefusal(
  deps: Stores,
  refund: Pick<Refund, 'organizationId' | 'requester'>,
  actor: string,
  approver: string,
): Promise<string | null> {
  const { organizationId } = refund;
  const people = await peopleBehind(deps.db, [refund.requester, approver]);
  const requester = { actor, person: people.get(refund.requester) ?? refund.requester };
  const circumstances = await readCircumstances(deps, organizationId, requester);
  return approvalRefusal(
    requester,
    { actor: approver, person: people.get(approver) ?? approver },
    circumstances,
  );
}

/** The members who can approve something first, and from when. */
export interface NextApproval {
  /** As actors; none when no member ever can. */
  approvers: readonly string[];
  /** Null for those who can now. */
  from: Date | null;
}

/** Who can first approve what a person requests. */
export function nextApproval(
  person: string,
  { invitations, sameAddress, approvers, isRequesterDeleted }: Circumstances,
  now: Date,
): NextApproval {
  const times = [now, ...invitations.map(([, , endsAt]) => new Date(endsAt))];
  for (const at of isRequesterDeleted ? [] : times.toSorted((one, other) => +one - +other)) {
    const connecting = invitations.filter(([, , endsAt]) => new Date(endsAt) > at);
    const connected = connectedWith(person, [...connecting, ...sameAddress]);
    const able = approvers.filter((approver) => !connected.has(approver));
    if (able.length > 0) return { approvers: able, from: at > now ? at : null };
  }
  return { approvers: [], from: null };
}

/** The same for what an actor of an organization has requested or will request. */
export async function findNextApproval(
  deps: Stores,
  organizationId: string,
  requester: string,
): Promise<NextApproval> {
  const people = await peopleBehind(deps.db, [requester]);
  const person = people.get(requester) ?? requester;
  const circumstances = await readCircumstances(deps, organizationId, { actor: person, person });
  return nextApproval(person, circumstances, deps.clock.now());
}

/** Invitations of the command line connect no one: operators may do anything. */
async function readCircumstances(
  { db, clock }: Stores,
  organizationId: string,
  { person }: Principal,
): Promise<Circumstances> {
  const rows = await db.$queryRaw<Circumstances[]>`
    SELECT four_eyes_days AS days,
      (SELECT coalesce(jsonb_agg(jsonb_build_array(invited_by, accepted_by, accepted_at + make_interval(days => four_eyes_days))), '[]')
       FROM invitation
       WHERE organization_id = organization.id AND invited_by LIKE 'user:%'
         AND accepted_by IS NOT NULL AND accepted_at > ${clock.now()}::timestamptz - make_interval(days => four_eyes_days)) AS invitations,
      (SELECT coalesce(jsonb_agg(jsonb_build_array('user:' || own.id, 'user:' || other.id)), '[]')
       FROM membership JOIN "user" AS own ON own.id = user_id JOIN "user" AS other ON other.email = own.email AND other.id <> own.id
       WHERE organization_id = organization.id) AS "sameAddress",
      (SELECT coalesce(jsonb_agg('user:' || user_id), '[]')
       FROM membership JOIN "user" ON "user".id = user_id
       WHERE organization_id = organization.id AND role <> 'viewer' AND disabled_at IS NULL) AS approvers,
      ${person} LIKE 'user:%' AND NOT EXISTS (SELECT FROM "user" WHERE id = substr(${person}, 6)) AS "isRequesterDeleted"
    FROM organization WHERE id = ${organizationId}`;
  const [row] = rows;
  if (row === undefined) throw new Error(`The organization ${organizationId} is missing`);
  return row;
}
