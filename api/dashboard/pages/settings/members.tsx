import type { FastifyReply, FastifyRequest } from 'fastify';
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
import { FormNotice } from '../../components/form.tsx';
import { contextOf, needs, useMember } from '../../http/access.ts';
import { answerForm, enteredList, type FormProblems, type FormState } from '../../http/forms.ts';
import { dashboardPath, idInPath, originOf } from '../../http/paths.ts';
import { changesOf } from '../../layout/changes.ts';
import { Frame } from '../../layout/frame.tsx';
import { Invitations, type Invited, InvitedNotice, InviteForm, inviteSchema } from './invitations.tsx';
import { MemberList } from './member-list.tsx';

const path = '/settings/members';
const ruleSchema = z.object({ required: z.enum(['yes', 'no'], 'Select whether to require it.') });

/** `/settings/members`: members and invitations. */
export function memberPages(scope: Api, deps: ApiDependencies): void {
  const confirmed = needs('admin', 'confirmed');
  const change = changesOf(scope, path);
  /** Shows what is wrong with a form beside the one for invitations. */
  const again = (reply: FastifyReply, { problems }: FormState) =>
    show(deps, reply, { problems: { form: Object.values(problems)[0] } });
  const memberIn = (request: FastifyRequest) => ({
    ...changeIn(request),
    userId: idInPath(request, 'userId', 'usr'),
  });

  scope.get(path, needs('viewer'), (_request, reply) => show(deps, reply, {}));

  const changing = { ...confirmed, schema: inviteSchema.pick({ role: true }), again };
  change(`${path}/:userId/role`, changing, 'role-changed', (request, { role }) =>
    changeRole(deps, { ...memberIn(request), role }),
  );

  change(`${path}/:userId/remove`, { ...confirmed, again }, 'member-removed', (request) => {
    // A key that was created after the page was loaded is not among those shown, and is revoked.
    const revoked = enteredList(request.body, 'revokedKeys');
    const keptKeys = enteredList(request.body, 'shownKeys').filter((id) => !revoked.includes(id));
    return removeMember(deps, { ...memberIn(request), keptKeys });
  });

  change(
    `${path}/second-factor`,
    { ...confirmed, schema: ruleSchema, again },
    ({ required }) => (required === 'yes' ? 'second-factor-required' : 'second-factor-optional'),
    (request, { required }) =>
      setSecondFactorRule(deps, { ...changeIn(request), isRequired: required === 'yes' }),
  );

  scope.post(`${path}/leave`, needs('viewer', 'confirmed'), (request, reply) =>
    answerForm(reply, {
      schema: z.object({}),
      again: (form) => again(reply, form),
      run: async () => {
        const change = changeIn(request);
        await removeMember(deps, { ...change, userId: change.acting.userId });
        return reply.redirect(dashboardPath, 303);
      },
    }),
  );

  scope.post(`${path}/invitations`, confirmed, (request, reply) =>
    answerForm(reply, {
      schema: inviteSchema,
      again: (form) => show(deps, reply, form),
      run: async (entries) => {
        const change = changeIn(request);
        const isMailed = deps.settings.SMTP_URL !== null;
        if (isMailed) {
          const subjects = [{ mailedInvitationsOf: change.organizationId }];
          await countRequest({ ...deps, log: request.log }, subjects);
        }
        const { token, expiresAt } = await invite(deps, { ...change, ...entries, isMailed });
        const link = `${originOf(request)}${dashboardPath}/invitation/${token}`;
        return await show(deps, reply, { invited: { link, expiresAt, isMailed, ...entries } });
      },
    }),
  );

  change(
    `${path}/invitations/:invitationId/revoke`,
    { ...confirmed, again },
    'invitation-revoked',
    (request) => {
      const invitationId = idInPath(request, 'invitationId', 'inv');
      return revokeInvitation(deps, { ...changeIn(request), invitationId });
    },
  );
}

function changeIn(request: FastifyRequest) {
  const { organization, user } = contextOf(request);
  return { organizationId: organization.id, acting: { userId: user.id } };
}

/** The result of the last action. */
interface State {
  /** An invitation that was just created. */
  invited?: Invited;
  problems?: FormProblems;
  /** The submitted invitation form. */
  body?: unknown;
}

async function show(deps: ApiDependencies, reply: FastifyReply, state: State): Promise<FastifyReply> {
  const view = await readMembers(deps, reply);
  return reply.send(
    <Frame title="Members" section="members">
      <Members {...view} {...state} />
    </Frame>,
  );
}

async function readMembers(deps: ApiDependencies, { request }: FastifyReply) {
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

type MembersProps = Awaited<ReturnType<typeof readMembers>> & State;

function Members({ invited, problems = {}, body, members, keys, endpoints, ...view }: MembersProps) {
  return (
    <div id="members" class="stack">
      <FormNotice problems={problems} />
      {invited && <InvitedNotice {...invited} />}
      <MemberList {...{ members, keys, endpoints }} />
      <Invitations invitations={view.invitations} names={view.names} />
      {mayAct(useMember().role, 'admin') ? <InviteForm problems={problems} body={body} /> : null}
      <SecondFactorRuleCard rule={view.rule} />
    </div>
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
