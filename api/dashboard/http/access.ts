import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { Dependencies } from '../../../shared/dependencies.ts';
import { actorOf } from '../../../shared/people/acting.ts';
import { findMembership } from '../../../shared/people/find-members.ts';
import { mayAct } from '../../../shared/people/roles.ts';
import { loadSession, sessionOver } from '../../../shared/people/sessions.ts';
import type { Role } from '../../../shared/platform/database.ts';
import { type Environment, isEnvironment } from '../../../shared/platform/environment.ts';
import { ServiceError } from '../../../shared/platform/errors.ts';
import { isId } from '../../../shared/platform/ids.ts';
import type { RefundOwner } from '../../../shared/refunds/model/refund.ts';
import { ownAddressOfPage } from './own-address.ts';
import { dashboardPath } from './paths.ts';
import { signedIn, type Visitor } from './signed-in.ts';

declare module 'fastify' {
  interface FastifyContextConfig {
    /** The least role that a member needs for the route; every route of an organization has to name one. */
    role?: Role;
  }
}

/** Somebody at work in one environment of one organization, as the address of the page says. */
export interface Context extends Visitor {
  organization: { id: string; name: string };
  role: Role;
  environment: Environment;
  /** What the addresses of all pages in it begin with. */
  base: string;
  /** The person, in timelines and in the audit log. */
  actor: string;
  /** Whose refunds the page is about, and no others. */
  owner: RefundOwner;
}

const visitors = new WeakMap<FastifyRequest, Visitor>();
const contexts = new WeakMap<FastifyRequest, Context>();

/** Lets only people who are signed in into the routes that are registered on this instance from here on; others sign in first. */
export function requireVisitor(scope: FastifyInstance, deps: Dependencies): void {
  scope.addHook('onRequest', async (request, reply) => {
    const visitor = await signedIn(deps, request, reply);
    if (visitor === null) return toSignIn(request, reply);
    visitors.set(request, visitor);
  });
}

function toSignIn(request: FastifyRequest, reply: FastifyReply): FastifyReply {
  const signIn = `${dashboardPath}/sign-in`;
  const backTo = (next: string) => `${signIn}?next=${encodeURIComponent(next)}`;
  // What asks for a part of a page leads back to that page: the part alone is none. Nor is it replaced by another page.
  if (request.headers['hx-request'] === 'true') {
    const page = request.headers['hx-current-url'];
    const next = ownAddressOfPage(typeof page === 'string' ? page : undefined);
    return reply.code(401).header('hx-redirect', backTo(next)).send('');
  }
  const asksForPage = request.method === 'GET' || request.method === 'HEAD';
  return reply.redirect(asksForPage ? backTo(request.url) : signIn, 303);
}

/**
 * Lets only members of the organization that the path names into the routes that are registered on this instance from
 * here on, each according to the role that the route asks for. An organization of others is unknown.
 */
export function requireMember(scope: FastifyInstance, deps: Dependencies): void {
  scope.addHook('onRoute', ({ url, config }) => {
    if (config?.role === undefined) throw new TypeError(`${url} does not say which role may use it.`);
  });
  scope.addHook('onRequest', async (request) => {
    const { organizationId = '', environment = '' } = request.params as Record<string, string | undefined>;
    const visitor = visitorOf(request);
    if (!isId('org', organizationId) || !isEnvironment(environment)) throw noSuchPage();
    const { role, organizationName } = await requireRole(deps, request, visitor, organizationId);
    const base = `/dashboard/${organizationId}/${environment}`;
    const organization = { id: organizationId, name: organizationName };
    const actor = actorOf({ userId: visitor.user.id });
    const owner = { organizationId, environment };
    contexts.set(request, { ...visitor, organization, role, environment, base, actor, owner });
  });
}

/**
 * Asks once more when the form is here: whoever holds it back must not use rights that were taken away meanwhile, nor a
 * session that has ended.
 */
export function confirmRights(scope: FastifyInstance, deps: Dependencies): void {
  scope.addHook('preHandler', async (request) => {
    if (request.method === 'GET' || request.method === 'HEAD') return;
    await confirmMember(deps, request);
  });
}

/**
 * Asks whether the person of a request may still do what it is for, however long ago it came.
 * @throws ServiceError insufficient_scope when the session has ended or the role does not suffice any more; not_found for
 * who is no member any more.
 */
export async function confirmMember(deps: Dependencies, request: FastifyRequest): Promise<void> {
  const context = contextOf(request);
  const session = await loadSession(deps, request.session.sessionId);
  if (session?.userId !== context.user.id) {
    throw sessionOver();
  }
  await requireRole(deps, request, context, context.organization.id);
}

async function requireRole(
  deps: Dependencies,
  request: FastifyRequest,
  { user }: Visitor,
  organizationId: string,
): Promise<{ role: Role; organizationName: string }> {
  const membership = await findMembership(deps.db, user.id, organizationId);
  if (membership === null) throw noSuchPage();
  const { role, organizationName } = membership;
  const required = request.routeOptions.config.role ?? 'owner';
  if (mayAct(role, required)) return membership;
  throw new ServiceError(
    'insufficient_scope',
    `This takes the role ${required}; yours is ${role}. An owner or admin of ${organizationName} can change it.`,
  );
}

function noSuchPage(): ServiceError {
  return new ServiceError('not_found', 'No such page.');
}

/** Who is signed in, on a route behind `requireVisitor`. */
export function visitorOf(request: FastifyRequest): Visitor {
  return known(visitors.get(request), 'requireVisitor');
}

/** Who is at work where, on a route behind `requireMember`. */
export function contextOf(request: FastifyRequest): Context {
  return known(contexts.get(request), 'requireMember');
}

function known<T>(value: T | undefined, guard: string): T {
  if (value === undefined) throw new TypeError(`This route is registered outside of ${guard}`);
  return value;
}
