import type { FastifyReply, FastifyRequest } from 'fastify';
import { z } from 'zod';
import { listMembers } from '../../../../shared/people/find-members.ts';
import { invite, listInvitations, revokeInvitation } from '../../../../shared/people/invitations.ts';
import { changeRole, removeMember } from '../../../../shared/people/members.ts';
import { nameActors } from '../../../../shared/people/name-actors.ts';
import { roles } from '../../../../shared/people/roles.ts';
import type { ApiDependencies } from '../../../http/dependencies.ts';
import type { Api } from '../../../http/route.ts';
import { type Context, contextOf } from '../../http/access.ts';
import { type FormProblems, readForm } from '../../http/forms.ts';
import { idInPath } from '../../http/id-in-path.ts';
import { originOf } from '../../http/origin.ts';
import { dashboardPath } from '../../http/paths.ts';
import { sendPage } from '../../http/render.ts';
import { Members, type MembersProps, type MembersView } from './member-list.tsx';
import { mendableProblems } from './mendable-problems.ts';
import { sendOnce } from './once.tsx';
import { SettingsFrame } from './settings-frame.tsx';

const path = '/settings/members';
const querySchema = z.object({ done: z.string().optional().catch(undefined) });
const role = z.enum(roles, 'Choose one of the roles.');
const roleSchema = z.object({ role });
const inviteSchema = z.object({ email: z.string(), role });

/** `/settings/members`: who may work in the organization, and who is invited to. */
export function memberPages(room: Api, deps: ApiDependencies): void {
  room.get(path, { config: { role: 'viewer' } }, async (request, reply) => {
    const { done } = querySchema.parse(request.query);
    return await show(deps, reply, contextOf(request), { done });
  });
  memberRoutes(room, deps);
  invitationRoutes(room, deps);
}

function memberRoutes(room: Api, deps: ApiDependencies): void {
  room.post<{ Params: { userId: string } }>(
    `${path}/:userId/role`,
    { config: { role: 'admin' } },
    async (request, reply) => {
      const context = contextOf(request);
      const form = readForm(roleSchema, request.body);
      if (form.kind === 'invalid') {
        return await show(deps, reply.code(400), context, { problems: { form: form.problems.role } });
      }
      const userId = idInPath('usr', request.params.userId);
      const change = { organizationId: context.organization.id, userId, role: form.value.role };
      return await carryOut(deps, reply, context, 'role', () =>
        changeRole(deps, { ...change, actingUserId: context.user.id }),
      );
    },
  );

  room.post<{ Params: { userId: string } }>(
    `${path}/:userId/remove`,
    { config: { role: 'admin' } },
    async (request, reply) => {
      const context = contextOf(request);
      const userId = idInPath('usr', request.params.userId);
      return await carryOut(deps, reply, context, 'removed', () =>
        removeMember(deps, { ...acting(context), userId }),
      );
    },
  );

  room.post(`${path}/leave`, { config: { role: 'viewer' } }, async (request, reply) => {
    const context = contextOf(request);
    try {
      await removeMember(deps, { ...acting(context), userId: context.user.id });
    } catch (error) {
      return await show(deps, reply.code(400), context, { problems: mendableProblems(error, []) });
    }
    return reply.redirect(dashboardPath, 303);
  });
}

function invitationRoutes(room: Api, deps: ApiDependencies): void {
  room.post(`${path}/invitations`, { config: { role: 'admin' } }, async (request, reply) => {
    const context = contextOf(request);
    const again = (problems: FormProblems) =>
      answer(deps, request, reply.code(400), context, { problems, body: request.body });
    const form = readForm(inviteSchema, request.body);
    if (form.kind === 'invalid') return await again(form.problems);
    try {
      const { token, expiresAt } = await invite(deps, { ...acting(context), ...form.value });
      const link = `${originOf(request)}${dashboardPath}/invitation/${token}`;
      const invited = { link, expiresAt, ...form.value };
      return await answer(deps, request, reply, context, { invited });
    } catch (error) {
      return await again(mendableProblems(error, ['email', 'role']));
    }
  });

  room.post<{ Params: { invitationId: string } }>(
    `${path}/invitations/:invitationId/revoke`,
    { config: { role: 'admin' } },
    async (request, reply) => {
      const context = contextOf(request);
      const invitationId = idInPath('inv', request.params.invitationId);
      return await carryOut(deps, reply, context, 'revoked', () =>
        revokeInvitation(deps, { ...acting(context), invitationId }),
      );
    },
  );
}

function acting({ organization, user }: Context) {
  return { organizationId: organization.id, acting: { userId: user.id } };
}

/** Leads back to the page when it is done, and says on it why not otherwise. */
async function carryOut(
  deps: ApiDependencies,
  reply: FastifyReply,
  context: Context,
  done: string,
  act: () => Promise<void>,
): Promise<FastifyReply> {
  try {
    await act();
  } catch (error) {
    return await show(deps, reply.code(400), context, { problems: mendableProblems(error, []) });
  }
  return reply.redirect(`${context.base}${path}?done=${done}`, 303);
}

type State = Partial<Omit<MembersProps, keyof MembersView>>;

async function show(
  deps: ApiDependencies,
  reply: FastifyReply,
  context: Context,
  state: State,
): Promise<FastifyReply> {
  const view = await readMembers(deps, context);
  return sendPage(
    reply,
    <SettingsFrame context={context} page="members">
      <Members {...view} {...state} />
    </SettingsFrame>,
  );
}

/** The answer to an invitation, with the link in it or with what is to be mended. */
async function answer(
  deps: ApiDependencies,
  request: FastifyRequest,
  reply: FastifyReply,
  context: Context,
  state: State,
): Promise<FastifyReply> {
  const view = await readMembers(deps, context);
  return sendOnce(request, reply, {
    part: <Members {...view} {...state} />,
    page: (part) => (
      <SettingsFrame context={context} page="members">
        {part}
      </SettingsFrame>
    ),
  });
}

async function readMembers(deps: ApiDependencies, context: Context): Promise<MembersView> {
  const { id } = context.organization;
  const members = await listMembers(deps.db, id);
  const invitations = await listInvitations(deps, id);
  const names = await nameActors(
    deps.db,
    id,
    invitations.map(({ invitedBy }) => invitedBy),
  );
  return { context, members, invitations, names };
}
