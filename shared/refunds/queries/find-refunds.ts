import { nameActors } from '../../audit/actors.ts';
import { openFairLimit } from '../../platform/concurrency/fair-limit.ts';
import {
  type SharedStatement,
  shareQuestion,
  shareRead,
} from '../../platform/concurrency/shared-statement.ts';
import {
  type Database,
  Prisma,
  type ProcessorAccount,
  type Reads,
  type Refund,
  type RefundWork,
} from '../../platform/database.ts';
import type { Environment } from '../../platform/environment.ts';
import { ServiceError } from '../../platform/errors.ts';
import {
  detailColumns,
  isRefundId,
  type RefundDetails,
  type RefundOwner,
  type RefundWithWork,
  refundColumns,
} from '../model/refund.ts';
import { snakeCase } from '../model/rows.ts';
import { waitingFields } from '../model/waiting.ts';
import { conditionOf, type RefundFilter } from './refund-filter.ts';

/** What is read of the work of a refund. */
const workFields = [...waitingFields, 'flaggedAt', 'cancelRequestedAt'] as const;

/** A refund with what it waits for, since when it is flagged, and when its cancellation was requested; null without work. */
export type RefundReading = RefundDetails &
  Pick<RefundWork, (typeof workFields)[number]> & { recoveryRequiredSince: Date | null };

type OwnedRefund = RefundReading & Pick<Refund, 'environment'>;

const readColumns = `${refundColumns}, ${detailColumns}, w.*,
  (SELECT required_since FROM recovery WHERE id = 1) AS "recoveryRequiredSince"`;

/** By the primary key of each, after the refunds were chosen. */
const joinedWork = `LEFT JOIN LATERAL (
  SELECT ${workFields.map((field) => `${snakeCase(field)} AS "${field}"`).join(', ')} FROM refund_work WHERE refund_id = r.id
) AS w ON TRUE`;

/** An account as it is shown with a refund. */
type RefundAccount = Pick<ProcessorAccount, 'id' | 'name' | 'connectedAccount'>;

/** The reads of the API. Concurrent requests share a statement. */
export interface RefundReads {
  byId: SharedStatement<string, OwnedRefund | undefined>;
  /** The rows of a statement in JSON: its organization, its text and its values. */
  list: SharedStatement<string, RefundReading[]>;
  /** By the id of a refund: the detail of its first event, which says what was decided. */
  decision: SharedStatement<string, unknown>;
  /** By the id of an account. */
  account: SharedStatement<string, RefundAccount | undefined>;
  /** By the id of an organization: its own texts of the message to the customer. */
  customerTexts: SharedStatement<string, unknown>;
}

/**
 * A list may read for seconds and keeps its connection meanwhile. Of the four, one is left to other reads, such as those of API keys,
 * and one to the lists of other organizations.
 */
const listsAtOnce = { inAll: 3, perOwner: 2 };

export function openRefundReads(reads: Reads): RefundReads {
  const limit = openFairLimit(listsAtOnce);
  return {
    byId: shareRead(async (ids) => {
      // The caller checks the owner.
      const rows = await reads.query<OwnedRefund>(
        `SELECT ${readColumns}, r.environment FROM refund AS r ${joinedWork} WHERE r.id = ANY ($1)`,
        [ids],
      );
      return new Map(rows.map((row) => [row.id, row]));
    }),
    list: shareQuestion((statement) => {
      const [organizationId, text, values] = JSON.parse(statement);
      return limit(organizationId, () => reads.query<RefundReading>(text, values));
    }),
    decision: shareRead(async (ids) => {
      const rows = await reads.query<{ id: string; detail: unknown }>(
        `SELECT asked.id, (SELECT e.detail FROM refund_event AS e WHERE e.refund_id = asked.id AND e.seq = 1) AS detail
         FROM unnest($1::text[]) AS asked(id)`,
        [ids],
      );
      return new Map(rows.map(({ id, detail }) => [id, detail]));
    }),
    account: shareRead(async (ids) => {
      const rows = await reads.query<RefundAccount>(
        `SELECT id, name, connected_account AS "connectedAccount" FROM processor_account WHERE id = ANY ($1)`,
        [ids],
      );
      return new Map(rows.map((row) => [row.id, row]));
    }),
    customerTexts: shareRead(async (ids) => {
      const rows = await reads.query<{ id: string; texts: unknown }>(
        'SELECT id, customer_texts AS texts FROM organization WHERE id = ANY ($1)',
        [ids],
      );
      return new Map(rows.map(({ id, texts }) => [id, texts]));
    }),
  };
}

/**
 * Reads a refund for a client.
 * @throws ServiceError not_found for an id that is unknown, malformed or another owner's.
 */
export async function readRefund(
  { byId }: RefundReads,
  { organizationId, environment }: RefundOwner,
  id: string,
): Promise<RefundReading> {
  const refund = isRefundId(id) ? await byId(id) : undefined;
  if (refund?.organizationId === organizationId && refund.environment === environment) return refund;
  throw refundNotFound();
}

/** A page of a list of refunds. Refunds match all given filters. */
interface RefundListing extends RefundFilter {
  limit: number;
  /** How many of the newest refunds to skip; 0 with `after`. */
  offset: number;
  /** The refund to continue after. It need not pass the filters. */
  after?: string | undefined;
}

/**
 * A page of an organization's refunds, newest first, and whether more follow. Refunds that are created meanwhile are newer than
 * any `after`, so the pages after it neither repeat nor skip one.
 * @throws ServiceError validation_error for an `after` that is malformed, unknown, another owner's or combined with an offset,
 * all alike.
 */
export async function listRefunds(
  { list }: RefundReads,
  owner: RefundOwner,
  { after, limit, offset, ...filters }: RefundListing,
): Promise<{ refunds: RefundReading[]; hasMore: boolean }> {
  const condition = conditionOf(owner, filters);
  const toPage = (rows: RefundReading[]) => ({ refunds: rows.slice(0, limit), hasMore: rows.length > limit });
  // One more than asked for says whether there are more.
  if (after === undefined) return toPage(await list(inJson(owner, pageSql(condition, limit + 1, offset))));
  const isPossible = isRefundId(after) && offset === 0;
  const rows = isPossible ? await list(inJson(owner, pageAfterSql(owner, after, condition, limit + 1))) : [];
  if (rows.length === 0) {
    throw new ServiceError(
      'validation_error',
      'after: must be the ID of a refund that this key can list, and cannot be combined with offset. Omit it to begin with the newest refund.',
    );
  }
  return toPage(rows.filter(({ id }) => id !== null));
}

const listedColumns = Prisma.raw(readColumns);
const workOfListed = Prisma.raw(joinedWork);

function pageSql(condition: Prisma.Sql, limit: number, offset: number): Prisma.Sql {
  return Prisma.sql`SELECT ${listedColumns}
    FROM (SELECT * FROM refund WHERE ${condition}
      ORDER BY created_at DESC, id DESC LIMIT ${limit} OFFSET ${offset}) AS r
    ${workOfListed} ORDER BY r.created_at DESC, r.id DESC`;
}

/**
 * No row: the cursor is not one of the owner's refunds. A row without a refund: nothing follows it.
 */
function pageAfterSql(
  { organizationId, environment }: RefundOwner,
  after: string,
  condition: Prisma.Sql,
  limit: number,
): Prisma.Sql {
  return Prisma.sql`SELECT ${listedColumns}
    FROM (SELECT id AS last_id, created_at AS last_created_at FROM refund WHERE id = ${after}
      AND organization_id = ${organizationId}
      AND environment = ${environment}::environment) AS cursor
    LEFT JOIN LATERAL (SELECT * FROM refund
      WHERE ${condition} AND (created_at, id) < (last_created_at, last_id)
      ORDER BY created_at DESC, id DESC LIMIT ${limit}) AS r ON TRUE
    ${workOfListed} ORDER BY r.created_at DESC, r.id DESC`;
}

function inJson({ organizationId }: RefundOwner, { text, values }: Prisma.Sql): string {
  return JSON.stringify([organizationId, text, values], (_name, value: unknown) =>
    typeof value === 'bigint' ? value.toString() : value,
  );
}

/**
 * Loads a refund with its open work.
 * @throws ServiceError not_found for an id that is unknown, malformed or another owner's.
 */
export async function findOwnRefund(
  db: Database,
  { organizationId, environment }: RefundOwner,
  id: string,
): Promise<RefundWithWork> {
  const refund = isRefundId(id)
    ? await db.refund.findUnique({ where: { id }, include: { work: true } })
    : null;
  if (refund?.organizationId === organizationId && refund.environment === environment) return refund;
  throw refundNotFound();
}

export function refundNotFound(): ServiceError {
  return new ServiceError('not_found', 'Refund not found.');
}

/** The environments of an organization's refunds, by id. Other ids are left out. */
export async function findRefundEnvironments(
  db: Database,
  organizationId: string,
  ids: readonly string[],
): Promise<Map<string, Environment>> {
  const refundIds = ids.filter((id) => id.startsWith('ref_'));
  if (refundIds.length === 0) return new Map();
  const refunds = await db.refund.findMany({
    where: { id: { in: refundIds } },
    select: { id: true, environment: true, organizationId: true },
  });
  const own = refunds.filter((refund) => refund.organizationId === organizationId);
  return new Map(own.map(({ id, environment }) => [id, environment]));
}

/**
 * The refunds of an account that a condition on ids finds. The account is checked in the result, so that no index but that of the
 * ids fits.
 */
export async function findOfAccount(
  db: Pick<Database, 'refund'>,
  accountId: string,
  byIds: Prisma.RefundWhereInput,
): Promise<RefundWithWork[]> {
  const found = await db.refund.findMany({ where: byIds, include: { work: true } });
  return found.filter((refund) => refund.accountId === accountId);
}

/** How many requesters are listed, members and keys each. */
const requestersListed = 200;

/** The members of an organization and the newest API keys of an environment that are not revoked, with their names, to choose from. */
export async function listRequesters(
  db: Database,
  { organizationId, environment }: RefundOwner,
): Promise<[actor: string, name: string][]> {
  const found = await db.$queryRaw<{ actor: string }[]>`
    (SELECT 'user:' || user_id AS actor FROM membership WHERE organization_id = ${organizationId} LIMIT ${requestersListed})
    UNION ALL
    (SELECT 'key:' || id FROM api_key
     WHERE organization_id = ${organizationId} AND environment = ${environment}::environment AND revoked_at IS NULL
     ORDER BY created_at DESC LIMIT ${requestersListed})`;
  const names = await nameActors(
    db,
    organizationId,
    found.map(({ actor }) => actor),
  );
  return [...names].toSorted(([, a], [, b]) => a.localeCompare(b, 'en'));
}

/**
 * The short names of those who requested the refunds.
 * @param refunds of one organization.
 * @returns by the refund's id.
 */
export async function nameRequesters(
  db: Database,
  organizationId: string,
  refunds: readonly Pick<Refund, 'id'>[],
): Promise<Map<string, string>> {
  const first = await db.refundEvent.findMany({
    where: { refundId: { in: refunds.map(({ id }) => id) }, seq: 1 },
    select: { refundId: true, actor: true },
  });
  const names = await nameActors(
    db,
    organizationId,
    first.map(({ actor }) => actor),
    { isShort: true },
  );
  return new Map(first.map(({ refundId, actor }) => [refundId, names.get(actor) ?? actor]));
}
