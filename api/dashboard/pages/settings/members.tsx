import type { FastifyReply } from 'fastify';
import { z } from 'zod';
import type { ApiDependencies } from '#api/http/dependencies.ts';
import type { Api } from '#api/http/route.ts';
import { createdKeys } from '#shared/organizations/created-keys.ts';
import { actorOf, nameActors } from '#shared/people/actors.ts';
import { invite, listInvitations, revokeInvitation } from '#shared/people/members/invitations.ts';
import { changeRole, listMembers, removeMember } from '#shared/people/members/members.ts';
import { readSecondFactorRule, setSecondFactorRule } from '#shared/people/members/required-second-factor.ts';
import { mayAct } from '#shared/people/roles.ts';
import { countRequest } from '#shared/people/sign-in/lockout.ts';
import { createdEndpoints } from '#shared/webhooks/created-endpoints.ts';
import { FormNotice } from '../../components/form.tsx';
import { contextOf, needs, useMember } from '../../http/access.ts';
import { answerForm, enteredList, type FormProblems, type FormSchema } from '../../http/forms.ts';
import { dashboardPath, idInPath, originOf } from '../../http/paths.ts';
import { sendPartOrPage } from '../../http/render.ts';
import { leadTo } from '../../layout/done.tsx';
import { Invitations, type Invited, InvitedNotice, InviteForm, inviteSchema } from './invitations.tsx';
import { MemberList } from './member-list.tsx';
import { SecondFactorRuleCard } from './second-factor-rule.tsx';
import { SettingsFrame } from './settings-frame.tsx';

const path = '/settings/members';
const changeSchema = inviteSchema.pick({ role: true });
const ruleSchema = z.object({ required: z.enum(['yes', 'no'], 'Select whether to require it.') });
const noEntries = z.object({});

/** `/settings/members`: members and invitations. */
export function memberPages(scope: Api, deps: ApiDependencies): void {
  const confirmed = needs('admin', 'confirmed');

  /** Responds to a form beside the one for invitations. */
  const answer = <T,>(
    reply: FastifyReply,
    schema: FormSchema<T>,
    run: (by: ReturnType<typeof actingIn>, entries: T) => Promise<FastifyReply>,
  ) =>
    answerForm(reply, {
      schema,
      again: ({ problems }) => show(deps, reply, { problems: { form: Object.values(problems)[0] } }),
      run: (entries) => run(actingIn(reply), entries),
    });

  scope.get(path, needs('viewer'), (_request, reply) => show(deps, reply, {}));

  scope.post(`${path}/:userId/role`, confirmed, (request, reply) =>
    answer(reply, changeSchema, async ({ organizationId, acting }, { role }) => {
      const userId = idInPath(request, 'userId', 'usr');
      await changeRole(deps, { organizationId, actingUserId: acting.userId, userId, role });
      return leadTo(reply, path, 'role-changed');
    }),
  );

  scope.post(`${path}/:userId/remove`, confirmed, (request, reply) =>
    answer(reply, noEntries, async (by) => {
      const userId = idInPath(request, 'userId', 'usr');
      // A key that was created after the page was loaded is not among those shown, and is revoked.
      const revoked = enteredList(request.body, 'revokedKeys');
      const keptKeys = enteredList(request.body, 'shownKeys').filter((id) => !revoked.includes(id));
      await removeMember(deps, { ...by, userId, keptKeys });
      return leadTo(reply, path, 'member-removed');
    }),
  );

  scope.post(`${path}/second-factor`, confirmed, (_request, reply) =>
    answer(reply, ruleSchema, async ({ organizationId, acting }, { required }) => {
      const isRequired = required === 'yes';
      await setSecondFactorRule(deps, { organizationId, actingUserId: acting.userId, isRequired });
      return leadTo(reply, path, isRequired ? 'second-factor-required' : 'second-factor-optional');
    }),
  );

  scope.post(`${path}/leave`, needs('viewer', 'confirmed'), (_request, reply) =>
    answer(reply, noEntries, async (by) => {
      await removeMember(deps, { ...by, userId: by.acting.userId });
      return reply.redirect(dashboardPath, 303);
    }),
  );

  scope.post(`${path}/invitations`, confirmed, (request, reply) =>
    answerForm(reply, {
      schema: inviteSchema,
      again: ({ body, problems }) => show(deps, reply, { body, problems }),
      run: async (entries) => {
        const by = actingIn(reply);
        const isMailed = deps.settings.SMTP_URL !== null;
        if (isMailed) {
          await countRequest({ ...deps, log: request.log }, [{ mailedInvitationsOf: by.organizationId }]);
        }
        const { token, expiresAt } = await invite(deps, { ...by, ...entries, isMailed });
        const link = `${originOf(request)}${dashboardPath}/invitation/${token}`;
        return await show(deps, reply, { invited: { link, expiresAt, isMailed, ...entries } });
      },
    }),
  );

  scope.post(`${path}/invitations/:invitationId/revoke`, confirmed, (request, reply) =>
    answer(reply, noEntries, async (by) => {
      await revokeInvitation(deps, { ...by, invitationId: idInPath(request, 'invitationId', 'inv') });
      return leadTo(reply, path, 'invitation-revoked');
    }),
  );
}

function actingIn({ request }: FastifyReply) {
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
  const part = <Members {...(await readMembers(deps, reply))} {...state} />;
  return sendPartOrPage(reply, part, (members) => <SettingsFrame page="members">{members}</SettingsFrame>);
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
      <SecondFactorRuleCard rule={view.rule} />
      {mayAct(useMember().role, 'admin') ? <InviteForm problems={problems} body={body} /> : null}
    </div>
  );
}
