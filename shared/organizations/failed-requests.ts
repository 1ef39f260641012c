import { olderThan, type Position } from '../platform/cursor.ts';
import type { Database, FailedRequest } from '../platform/database.ts';
import type { Environment } from '../platform/environment.ts';
import { ServiceError } from '../platform/errors.ts';

// Requests with an API key that were refused or failed, for the developers of the organization.

/** For how long they are kept. */
export const failedRequestDays = 7;

/** What is stored of the requests of an environment in a day, in UTC. Those alike have the same operation and error code. */
export const failedRequestsPerDay = { all: 500, alike: 50, bytes: 1024 * 1024 };

interface Owner {
  organizationId: string;
  environment: Environment;
}

/**
 * Stores a request that failed, unless the environment has enough of today. Several processes that store at once may exceed that by
 * one request each.
 * @param request without anything secret: its texts are shown to members.
 */
export async function storeFailedRequest(db: Database, request: FailedRequest): Promise<void> {
  const { id, organizationId, environment, apiKeyId, operation, path, status, code, message } = request;
  const { body, refundId, createdAt } = request;
  const { all, alike, bytes } = failedRequestsPerDay;
  const today = new Date(new Date(createdAt).setUTCHours(0, 0, 0, 0));
  const size = [path, message, body ?? ''].reduce((sum, text) => sum + Buffer.byteLength(text), 0);
  await db.$executeRaw`
    INSERT INTO failed_request (id, organization_id, environment, api_key_id, operation, path, status, code, message, body, refund_id, created_at)
    SELECT ${id}, ${organizationId}, ${environment}::environment, ${apiKeyId}, ${operation}, ${path}, ${status}::int, ${code},
      ${message}, ${body}, ${refundId}, ${createdAt}::timestamptz
    FROM (
      SELECT count(*) AS stored, count(*) FILTER (WHERE operation = ${operation} AND code = ${code}) AS alike,
        coalesce(sum(octet_length(path) + octet_length(message) + coalesce(octet_length(body), 0)), 0) AS bytes
      FROM failed_request
      WHERE organization_id = ${organizationId} AND environment = ${environment}::environment AND created_at >= ${today}::timestamptz) AS today
    WHERE stored < ${all} AND alike < ${alike} AND bytes + ${size}::int <= ${bytes}`;
}

/** Which requests to list; all of them by default. */
export interface FailedRequestFilter {
  id?: string | undefined;
  apiKeyId?: string | undefined;
  operation?: string | undefined;
  code?: string | undefined;
}

/** The requests of an environment that are older than a position, the newest first. */
export async function findFailedRequests(
  db: Database,
  owner: Owner,
  filter: FailedRequestFilter,
  before: Position | null,
  limit: number,
): Promise<FailedRequest[]> {
  const given = Object.fromEntries(Object.entries(filter).filter(([, value]) => value !== undefined));
  return await db.failedRequest.findMany({
    where: { AND: [ownedBy(owner), given, olderThan(before)] },
    orderBy: [{ createdAt: 'desc' }, { id: 'desc' }],
    take: limit,
  });
}

/** What can be filtered by: the values that requests of the environment have, in alphabetical order. */
export async function failedRequestValues(
  db: Database,
  owner: Owner,
): Promise<{ apiKeyIds: string[]; operations: string[]; codes: string[] }> {
  const found = await db.failedRequest.groupBy({
    by: ['apiKeyId', 'operation', 'code'],
    where: ownedBy(owner),
  });
  const valuesOf = (of: (one: (typeof found)[number]) => string) => [...new Set(found.map(of))].toSorted();
  return {
    apiKeyIds: valuesOf(({ apiKeyId }) => apiKeyId),
    operations: valuesOf(({ operation }) => operation),
    codes: valuesOf(({ code }) => code),
  };
}

/** @throws ServiceError not_found for an id that is unknown or another owner's. */
export async function findFailedRequest(db: Database, owner: Owner, id: string): Promise<FailedRequest> {
  const { organizationId, environment } = owner;
  const found = await db.failedRequest.findUnique({ where: { id } });
  if (found?.organizationId === organizationId && found.environment === environment) return found;
  throw new ServiceError('not_found', 'Request not found.');
}

function ownedBy({ organizationId, environment }: Owner): Owner {
  return { organizationId, environment };
}
