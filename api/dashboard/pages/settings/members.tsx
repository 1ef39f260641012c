import type { FastifyReply, FastifyRequest } from 'fastify';
import { z } from 'zod';
import type { ApiDependencies } from '#api/http/dependencies.ts';
import type { Api } from '#api/http/route.ts';
import { createdKeys } from '#shared/organizations/created-keys.ts';
import { actorOf, nameActors } from '#shared/people/actors.ts';
import { invite, listInvitations, revokeInvitation } from '#shared/people/members/invitations.ts';
import { changeRole, listMembers, removeMember } from '#shared/people/members/members.ts';
import { readSecondFactorRule, setSecondFactorRule } from '#shared/people/members/required-second-factor.ts';
import { countRequest } from '#shared/people/sign-in/lockout.ts';
import { createdEndpoints } from '#shared/webhooks/created-endpoints.ts';
import { type Context, contextOf } from '../../http/access.ts';
import { enteredList, type FormProblems, readForm, validationProblemsOf } from '../../http/forms.ts';
import { dashboardPath, idInPath, originOf } from '../../http/paths.ts';
import { type DoneWord, doneAt } from '../../layout/done.tsx';
import { inviteSchema } from './invitations.tsx';
import { Members, type MembersProps, type MembersView } from './member-list.tsx';
import { sendOnce } from './settings-frame.tsx';

const path = '/settings/members';
const changeSchema = inviteSchema.pick({ role: true });
const ruleSchema = z.object({ required: z.enum(['yes', 'no'], 'Select whether to require it.') });

type State = Partial<Omit<MembersProps, keyof MembersView>>;

/** `/settings/members`: members and invitations. */
export function memberPages(scope: Api, deps: ApiDependencies): void {
  scope.get(path, { config: { role: 'viewer' } }, (request, reply) => show(deps, request, reply, {}));
  memberRoutes(scope, deps);
  invitationRoutes(scope, deps);
}

function memberRoutes(scope: Api, deps: ApiDependencies): void {
  scope.post(`${path}/:userId/role`, { config: { role: 'admin', confirm: true } }, async (request, reply) => {
    const { organization, user } = contextOf(request);
    const form = readForm(changeSchema, request.body);
    if (form.kind === 'invalid') {
      return await show(deps, request, reply.code(400), { problems: { form: form.problems.role } });
    }
    const userId = idInPath(request, 'userId', 'usr');
    const change = { organizationId: organization.id, userId, role: form.value.role };
    return await perform(deps, request, reply, 'role-changed', () =>
      changeRole(deps, { ...change, actingUserId: user.id }),
    );
  });

  scope.post(
    `${path}/:userId/remove`,
    { config: { role: 'admin', confirm: true } },
    async (request, reply) => {
      const userId = idInPath(request, 'userId', 'usr');
      // A key that was created after the page was loaded is not among those shown, and is revoked.
      const revoked = enteredList(request.body, 'revokedKeys');
      const keptKeys = enteredList(request.body, 'shownKeys').filter((id) => !revoked.includes(id));
      return await perform(deps, request, reply, 'member-removed', () =>
        removeMember(deps, { ...acting(contextOf(request)), userId, keptKeys }),
      );
    },
  );

  const rule = `${path}/second-factor`;
  scope.post(rule, { config: { role: 'admin', confirm: true } }, async (request, reply) => {
    const { organization, user } = contextOf(request);
    const form = readForm(ruleSchema, request.body);
    if (form.kind === 'invalid') {
      return await show(deps, request, reply.code(400), { problems: { form: form.problems.required } });
    }
    const isRequired = form.value.required === 'yes';
    const change = { organizationId: organization.id, actingUserId: user.id, isRequired };
    const done = isRequired ? 'second-factor-required' : 'second-factor-optional';
    return await perform(deps, request, reply, done, () => setSecondFactorRule(deps, change));
  });

  scope.post(`${path}/leave`, { config: { role: 'viewer', confirm: true } }, async (request, reply) => {
    const context = contextOf(request);
    try {
      await removeMember(deps, { ...acting(context), userId: context.user.id });
    } catch (error) {
      return await show(deps, request, reply.code(400), { problems: validationProblemsOf(error, []) });
    }
    return reply.redirect(dashboardPath, 303);
  });
}

function invitationRoutes(scope: Api, deps: ApiDependencies): void {
  scope.post(`${path}/invitations`, { config: { role: 'admin', confirm: true } }, async (request, reply) => {
    const again = (problems: FormProblems) =>
      show(deps, request, reply.code(400), { problems, body: request.body });
    const form = readForm(inviteSchema, request.body);
    if (form.kind === 'invalid') return await again(form.problems);
    const isMailed = deps.settings.SMTP_URL !== null;
    const by = acting(contextOf(request));
    try {
      if (isMailed) {
        await countRequest({ ...deps, log: request.log }, [{ mailedInvitationsOf: by.organizationId }]);
      }
      const { token, expiresAt } = await invite(deps, { ...by, ...form.value, isMailed });
      const link = `${originOf(request)}${dashboardPath}/invitation/${token}`;
      return await show(deps, request, reply, { invited: { link, expiresAt, isMailed, ...form.value } });
    } catch (error) {
      return await again(validationProblemsOf(error, ['email', 'role']));
    }
  });

  const revoke = `${path}/invitations/:invitationId/revoke`;
  scope.post(revoke, { config: { role: 'admin', confirm: true } }, async (request, reply) => {
    const invitationId = idInPath(request, 'invitationId', 'inv');
    return await perform(deps, request, reply, 'invitation-revoked', () =>
      revokeInvitation(deps, { ...acting(contextOf(request)), invitationId }),
    );
  });
}

function acting({ organization, user }: Context) {
  return { organizationId: organization.id, acting: { userId: user.id } };
}

/** Performs an action and redirects to the page, or shows the page with the validation error. */
async function perform(
  deps: ApiDependencies,
  request: FastifyRequest,
  reply: FastifyReply,
  done: DoneWord,
  action: () => Promise<unknown>,
): Promise<FastifyReply> {
  try {
    await action();
  } catch (error) {
    return await show(deps, request, reply.code(400), { problems: validationProblemsOf(error, []) });
  }
  return reply.redirect(doneAt(`${contextOf(request).base}${path}`, done), 303);
}

async function show(
  deps: ApiDependencies,
  request: FastifyRequest,
  reply: FastifyReply,
  state: State,
): Promise<FastifyReply> {
  const context = contextOf(request);
  const { id } = context.organization;
  const members = await listMembers(deps.db, id);
  const invitations = await listInvitations(deps, id);
  const inviters = invitations.map(({ invitedBy }) => invitedBy);
  const names = await nameActors(deps.db, id, inviters);
  const rule = await readSecondFactorRule(deps.db, id);
  const people = members.map(({ userId }) => actorOf({ userId }));
  const keys = await createdKeys(deps.db, people, deps.clock.now(), id);
  const endpoints = await createdEndpoints(deps.db, people, id);
  const view = { context, members, invitations, names, rule, keys, endpoints };
  return sendOnce(request, reply, { context, page: 'members', part: <Members {...view} {...state} /> });
}
