import type { FastifyRequest } from 'fastify';
import { mayAct } from '#shared/access/roles.ts';
import { nameActors } from '#shared/audit/actors.ts';
import type { Stores } from '#shared/platform/database.ts';
import { findNextApproval } from '#shared/refunds/decisions/four-eyes.ts';
import { Link } from '../../components/button.tsx';
import { Notice } from '../../components/notice.tsx';
import { Sentence } from '../../components/values.tsx';
import { contextOf, useMember } from '../../http/access.ts';

/** The members who can approve something first. */
export interface Approval {
  names: readonly string[];
  /** Null for those who can now. */
  from: Date | null;
}

/** Reads who can approve what an actor requests. */
export async function readApproval(
  deps: Stores,
  request: FastifyRequest,
  requester: string,
): Promise<Approval> {
  const { id } = contextOf(request).organization;
  const { approvers, from } = await findNextApproval(deps, id, requester);
  return { names: [...(await nameActors(deps.db, id, approvers)).values()], from };
}

/** Whether no one can approve it now. */
export function isUnapproved({ names, from }: Approval): boolean {
  return names.length === 0 || from !== null;
}

/** Who can approve, from when on, and what to do about it when no one can now. */
export function Approvers({ approval }: { approval: Approval }) {
  const { names, from } = approval;
  const who = namesOf(names);
  return (
    <p class="muted">
      {names.length === 0 ? (
        'No other member can approve.'
      ) : (
        <Sentence
          text={from === null ? `Can approve: ${who}.` : `Can approve from ${from.toISOString()}: ${who}.`}
        />
      )}
      {isUnapproved(approval) ? <Choices /> : null}
    </p>
  );
}

/** What changes who may approve, for those who may change it. */
function Choices() {
  const { role } = useMember();
  if (!mayAct(role, 'admin')) return ' An owner can change that.';
  return (
    <>
      {' '}
      <Link to="/settings/members">Invite a member</Link>
      {mayAct(role, 'owner') ? (
        <>
          , or <Link to="/settings/approvals">change the days after an invitation</Link>.
        </>
      ) : (
        ', or ask an owner to change the days after an invitation.'
      )}
    </>
  );
}

/** Warns of what requires an approval that no one can give now. @param what it is, in the plural. */
export function Unapproved({ approval, what }: { approval: Approval | null; what: string }) {
  if (approval === null || !isUnapproved(approval)) return null;
  return (
    <Notice tone="warn">
      <strong>No one can approve {what} now.</strong> An approval takes two people, and a new member can't
      approve what those who invited them request.
      <Approvers approval={approval} />
    </Notice>
  );
}

/** The most members that are named. */
const maxNamed = 5;

function namesOf(names: readonly string[]): string {
  const named = names.slice(0, maxNamed).join(', ');
  const more = names.length - maxNamed;
  return more > 0 ? `${named} and ${more} more` : named;
}
