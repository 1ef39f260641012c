import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { mayAct } from '#shared/access/roles.ts';
import { actorOf } from '#shared/audit/actors.ts';
import type { Dependencies } from '#shared/dependencies.ts';
import { countNeedingAttention, type NeedingAttention } from '#shared/insights/needs-attention.ts';
import { findMembership, type Membership } from '#shared/people/members/memberships.ts';
import { loadSession, sessionEnded } from '#shared/people/sign-in/sessions.ts';
import type { Organization, Role } from '#shared/platform/database.ts';
import { type Environment, isEnvironment } from '#shared/platform/environment.ts';
import { ServiceError } from '#shared/platform/errors.ts';
import { isId } from '#shared/platform/ids.ts';
import type { RefundOwner } from '#shared/refunds/model/refund.ts';
import { accountPath, companySignInPath, dashboardPath, pageNotFound, safeReturnPathOf } from './paths.ts';
import { isForPart, useRequest } from './render.ts';
import { findVisitor, type Visitor } from './session.ts';

declare module 'fastify' {
  interface FastifyContextConfig {
    /** The least role that the route requires; every route of an organization must have one. */
    role?: Role;
  }
  interface FastifyRequest {
    /** Set by `requireVisitor`. */
    visitor?: Visitor | null;
    /** Set by `requireMember`. */
    member?: Context | null;
  }
}

/** A member in one environment of one organization, as the page's address names them. */
export interface Context extends Visitor {
  organization: Pick<Organization, 'id' | 'name' | 'refundColumns' | 'confirmsHourly'>;
  role: Role;
  environment: Environment;
  /** The path prefix of all pages in it. */
  base: string;
  /** The user as an actor of timelines and the audit log. */
  actor: string;
  /** The owner of all refunds that the pages may show. */
  owner: RefundOwner;
  /** The parameters of the page's address. */
  query: unknown;
  /** Shown in the navigation of whole pages. */
  counts: NeedingAttention;
}

/** Redirects anyone who is not signed in to the sign-in page, on all routes registered afterwards. */
export function requireVisitor(scope: FastifyInstance, deps: Dependencies): void {
  scope.decorateRequest('visitor', null);
  scope.addHook('onRequest', async (request, reply) => {
    request.visitor = await findVisitor(deps, request, reply);
    if (request.visitor === null) return redirectToSignIn(request, reply);
  });
}

function redirectToSignIn(request: FastifyRequest, reply: FastifyReply): FastifyReply {
  const signIn = `${dashboardPath}/sign-in`;
  const backTo = (next: string) => `${signIn}?next=${encodeURIComponent(next)}`;
  // A request for a part of a page returns to the whole page, and loads the sign-in page instead of swapping it in.
  if (isForPart(request)) {
    const page = request.headers['hx-current-url'];
    const next = safeReturnPathOf(typeof page === 'string' ? page : undefined);
    return reply.code(401).header('hx-redirect', backTo(next)).send('');
  }
  const isForPage = request.method === 'GET' || request.method === 'HEAD';
  return reply.redirect(isForPage ? backTo(request.url) : signIn, 303);
}

/**
 * Admits only members of the organization in the path with the role that the route requires, on all routes registered
 * afterwards. Another organization is answered like an unknown one. Members without a second factor that it requires are
 * redirected to its set-up.
 */
export function requireMember(scope: FastifyInstance, deps: Dependencies): void {
  scope.decorateRequest('member', null);
  scope.addHook('onRoute', ({ url, config }) => {
    if (config?.role === undefined) throw new TypeError(`${url} does not name the role that it requires.`);
  });
  scope.addHook('onRequest', async (request, reply) => {
    const { organizationId = '', environment = '' } = request.params as Record<string, string | undefined>;
    const visitor = visitorOf(request);
    if (!isId('org', organizationId) || !isEnvironment(environment)) throw pageNotFound();
    const membership = await requireRole(deps, request, visitor, organizationId);
    if (membership.needsCompanySignIn)
      return redirectTo(request, reply, `${companySignInPath}/${organizationId}`);
    if (membership.lacksSecondFactor) return redirectTo(request, reply, secondFactorSetUp);
    const { role, organizationName: name, refundColumns, confirmsHourly } = membership;
    const base = `${dashboardPath}/${organizationId}/${environment}`;
    const organization = { id: organizationId, name, refundColumns, confirmsHourly };
    const actor = actorOf({ userId: visitor.user.id });
    const owner = { organizationId, environment };
    const { query } = request;
    // A part of a page has no navigation.
    const counts = isForPart(request)
      ? { approvals: 0, attention: 0 }
      : await countNeedingAttention(deps.db, owner);
    request.member = { ...visitor, organization, role, environment, base, actor, owner, query, counts };
  });
}

const secondFactorSetUp = `${accountPath}?required=yes#second-factor`;

function redirectTo(request: FastifyRequest, reply: FastifyReply, path: string): FastifyReply {
  if (!isForPart(request)) return reply.redirect(path, 303);
  return reply.code(403).header('hx-redirect', path).send('');
}

/**
 * Checks session and role again once the form has arrived, so that a client that delays the body cannot use rights that
 * were revoked meanwhile.
 */
export function confirmRights(scope: FastifyInstance, deps: Dependencies): void {
  scope.addHook('preHandler', async (request) => {
    if (request.method === 'GET' || request.method === 'HEAD') return;
    await confirmMember(deps, request);
  });
}

/**
 * Checks the session and the role of a request again.
 * @throws ServiceError insufficient_scope when the session has ended, the role no longer suffices or a second factor is
 * now required; not_found for a former member.
 */
export async function confirmMember(deps: Dependencies, request: FastifyRequest): Promise<void> {
  const context = contextOf(request);
  const session = await loadSession(deps, request.session.sessionId);
  if (session?.userId !== context.user.id) throw sessionEnded();
  const { id, name } = context.organization;
  const { lacksSecondFactor, needsCompanySignIn } = await requireRole(deps, request, context, id);
  if (needsCompanySignIn) {
    throw new ServiceError(
      'insufficient_scope',
      `${name} now requires a sign-in with your company's account.`,
    );
  }
  if (!lacksSecondFactor) return;
  const message = `${name} now requires a second factor. Set one up under Your account.`;
  throw new ServiceError('insufficient_scope', message);
}

async function requireRole(
  deps: Dependencies,
  request: FastifyRequest,
  { user }: Visitor,
  organizationId: string,
): Promise<Membership> {
  const { companyOf } = request.session;
  const membership = await findMembership(deps.db, user.id, organizationId, companyOf);
  if (membership === null) throw pageNotFound();
  const { role, organizationName } = membership;
  const required = request.routeOptions.config.role ?? 'owner';
  if (mayAct(role, required)) return membership;
  throw new ServiceError(
    'insufficient_scope',
    `This requires the ${required} role. Your role is ${role}. An admin or owner of ${organizationName} can change it.`,
  );
}

/** Counts again what the navigation shows, for a page that is shown right after a change. */
export async function refreshCounts(
  { db }: Pick<Dependencies, 'db'>,
  request: FastifyRequest,
): Promise<void> {
  const context = contextOf(request);
  context.counts = await countNeedingAttention(db, context.owner);
}

/** Who may use a route: members with at least a role; null where the hooks of its scope decide alone. */
export type Guard = Role | Confirmed | null;

interface Confirmed {
  role: Role | null;
  confirm: true;
  enrols?: true;
  formLimitBytes?: number;
  isRoutine?: (request: FastifyRequest) => Promise<boolean>;
}

/**
 * The same for those who have confirmed the session lately.
 * @param options what else differs: the largest form, as JSON; for which requests it is enough, if the organization says so, that this was
 *   within the hour.
 */
export function confirmed(
  role: Role | null = null,
  options: Pick<Confirmed, 'formLimitBytes' | 'isRoutine'> = {},
): Confirmed {
  return { role, confirm: true, ...options };
}

/** The options of a route. */
export function needs(guard: Guard) {
  const { role, ...confirm } = typeof guard === 'object' && guard !== null ? guard : { role: guard };
  return { config: { ...confirm, ...(role === null ? {} : { role }) } };
}

/** The user of a request, on routes behind `requireVisitor`. */
export function visitorOf(request: FastifyRequest): Visitor {
  return required(request.visitor, 'requireVisitor');
}

/** The user and session of a request, for changes that are refused once the session has ended. */
export function ownSessionOf(request: FastifyRequest): { userId: string; sid: string } {
  return { userId: visitorOf(request).user.id, sid: request.session.sessionId };
}

/** The member, organization and environment of a request, on routes behind `requireMember`. */
export function contextOf(request: FastifyRequest): Context {
  return required(request.member, 'requireMember');
}

/** Who makes a change, and where. */
export function actingIn(request: FastifyRequest) {
  const { owner, actor } = contextOf(request);
  return { ...owner, actor };
}

/** The user whose page is rendered. */
export function useVisitor(): Visitor {
  return visitorOf(useRequest());
}

/** The member whose page is rendered. */
export function useMember(): Context {
  return contextOf(useRequest());
}

/** An address; a path below the environment gets its prefix. */
export function addressIn({ member }: FastifyRequest, to: string): string {
  return to.startsWith(dashboardPath) ? to : `${member?.base ?? ''}${to}`;
}

/** The same for the page that is rendered. */
export function useAddress(to: string): string {
  return addressIn(useRequest(), to);
}

function required<T>(value: T | null | undefined, guard: string): T {
  if (value === null || value === undefined)
    throw new TypeError(`This route is registered outside of ${guard}`);
  return value;
}
