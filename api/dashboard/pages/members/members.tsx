import type { FastifyRequest } from 'fastify';
import { z } from 'zod';
import type { ApiDependencies } from '#api/http/dependencies.ts';
import type { Api } from '#api/http/route.ts';
import { mayAct } from '#shared/access/roles.ts';
import { actorOf, nameActors } from '#shared/audit/actors.ts';
import { createdKeys } from '#shared/organizations/created-keys.ts';
import { invite, listInvitations, revokeInvitation } from '#shared/people/members/invitations.ts';
import { changeRole, listMembers, removeMember } from '#shared/people/members/members.ts';
import {
  readSecondFactorRule,
  type SecondFactorRule,
  setSecondFactorRule,
} from '#shared/people/members/required-second-factor.ts';
import { countRequest } from '#shared/people/sign-in/lockout.ts';
import { createdEndpoints } from '#shared/webhooks/created-endpoints.ts';
import { Card } from '../../components/card.tsx';
import { Confirm } from '../../components/dialog.tsx';
import { confirmed, contextOf, useMember } from '../../http/access.ts';
import { enteredList } from '../../http/forms.ts';
import { leadTo, page } from '../../http/page.ts';
import { dashboardPath, idInPath, originOf } from '../../http/paths.ts';
import { Frame } from '../../layout/frame.tsx';
import { Invitations, type Invited, InvitedNotice, InviteForm, inviteSchema } from './invitations.tsx';
import { MemberList } from './member-list.tsx';

const path = '/settings/members';
const ruleSchema = z.object({ required: z.enum(['yes', 'no'], 'Select whether to require it.') });

/** `/settings/members`: members and invitations. */
export function memberPages(scope: Api, deps: ApiDependencies): void {
  const manage = confirmed('admin');
  const members = page(scope, path, 'viewer', (request) => readMembers(deps, request), Members);
  const memberIn = (request: FastifyRequest) => ({
    ...changeIn(request),
    userId: idInPath(request, 'userId', 'usr'),
  });
  const asButton = { isButton: true };

  members.form(
    `${path}/:userId/role`,
    manage,
    inviteSchema.pick({ role: true }),
    async (request, { role }) => {
      await changeRole(deps, { ...memberIn(request), role });
      return 'role-changed';
    },
    asButton,
  );

  members.button(`${path}/:userId/remove`, manage, async (request) => {
    // A key that was created after the page was loaded is not among those shown, and is revoked.
    const revoked = enteredList(request.body, 'revokedKeys');
    const keptKeys = enteredList(request.body, 'shownKeys').filter((id) => !revoked.includes(id));
    await removeMember(deps, { ...memberIn(request), keptKeys });
    return 'member-removed';
  });

  members.form(
    `${path}/second-factor`,
    manage,
    ruleSchema,
    async (request, { required }) => {
      await setSecondFactorRule(deps, { ...changeIn(request), isRequired: required === 'yes' });
      return required === 'yes' ? 'second-factor-required' : 'second-factor-optional';
    },
    asButton,
  );

  members.button(`${path}/leave`, confirmed('viewer'), async (request) => {
    const change = changeIn(request);
    await removeMember(deps, { ...change, userId: change.acting.userId });
    return leadTo(dashboardPath);
  });

  members.form(`${path}/invitations`, manage, inviteSchema, async (request, entries) => {
    const change = changeIn(request);
    const isMailed = deps.settings.SMTP_URL !== null;
    if (isMailed) {
      const subjects = [{ mailedInvitationsOf: change.organizationId }];
      await countRequest({ ...deps, log: request.log }, subjects);
    }
    const { token, expiresAt } = await invite(deps, { ...change, ...entries, isMailed });
    const link = `${deps.settings.PUBLIC_URL ?? originOf(request)}${dashboardPath}/invitation/${token}`;
    return { invited: { link, expiresAt, isMailed, ...entries } };
  });

  members.button(`${path}/invitations/:invitationId/revoke`, manage, async (request) => {
    const invitationId = idInPath(request, 'invitationId', 'inv');
    await revokeInvitation(deps, { ...changeIn(request), invitationId });
    return 'invitation-revoked';
  });
}

function changeIn(request: FastifyRequest) {
  const { organization, user } = contextOf(request);
  return { organizationId: organization.id, acting: { userId: user.id } };
}

async function readMembers(deps: ApiDependencies, request: FastifyRequest) {
  const { db } = deps;
  const { id } = contextOf(request).organization;
  const members = await listMembers(db, id);
  const invitations = await listInvitations(deps, id);
  const inviters = invitations.map(({ invitedBy }) => invitedBy);
  const people = members.map(({ userId }) => actorOf({ userId }));
  return {
    ...{ members, invitations },
    /** The display names of those who invited. */
    names: await nameActors(db, id, inviters),
    rule: await readSecondFactorRule(db, id),
    /** The API keys that the members created. */
    keys: await createdKeys(db, people, deps.clock.now(), id),
    /** The webhook endpoints that keys of members created. */
    endpoints: await createdEndpoints(db, people, id),
  };
}

type MembersProps = Awaited<ReturnType<typeof readMembers>> & {
  /** An invitation that was just created. */
  invited?: Invited;
};

function Members({ invited, members, keys, endpoints, ...view }: MembersProps) {
  return (
    <Frame title="Members" section="members">
      <div id="members" class="stack">
        {invited && <InvitedNotice {...invited} />}
        <MemberList {...{ members, keys, endpoints }} />
        <Invitations invitations={view.invitations} names={view.names} />
        {mayAct(useMember().role, 'admin') ? <InviteForm /> : null}
        <SecondFactorRuleCard rule={view.rule} />
      </div>
    </Frame>
  );
}

/** Whether the organization requires a second factor; admins can change it. */
function SecondFactorRuleCard({ rule }: { rule: SecondFactorRule }) {
  const { organization, role } = useMember();
  const { name } = organization;
  const { isRequired, membersWithout } = rule;
  const without = membersWithout === 0 ? 'All members have one.' : `Members without one: ${membersWithout}.`;
  return (
    <Card id="second-factor-rule" title="Second factor">
      <p>
        {isRequired ? `${name} requires a second factor.` : `${name} doesn't require a second factor.`}{' '}
        {without}
      </p>
      {mayAct(role, 'admin') ? (
        <div>
          <Confirm
            id="change-second-factor-rule"
            action={isRequired ? 'Stop requiring' : 'Require a second factor'}
            title={isRequired ? 'Stop requiring a second factor?' : 'Require a second factor?'}
            kind={isRequired ? 'danger' : 'primary'}
            to="/settings/members/second-factor"
            values={{ required: isRequired ? 'no' : 'yes' }}
          >
            <p>
              {isRequired
                ? 'Members can then open all pages with their password alone.'
                : 'Members without one must set it up before they can open any page of this organization.'}
            </p>
          </Confirm>
        </div>
      ) : null}
    </Card>
  );
}
