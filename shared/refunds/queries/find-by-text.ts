import { currencies, exponentOf, fromDecimal } from '../../money/money.ts';
import { type Database, Prisma } from '../../platform/database.ts';
import type { RefundOwner, RefundWithWork } from '../model/refund.ts';
import { comparedOwnerSql, ownerSql } from './refund-filter.ts';

/** What a text was found as, the most specific first. */
const kinds = ['refund', 'payment', 'processor refund', 'metadata', 'amount'] as const;

/** A refund that a text leads to. */
export interface Hit {
  refund: RefundWithWork;
  as: (typeof kinds)[number];
}

export const longestSearch = 200;

/** How many refunds of each kind are looked at, at most. */
const candidates = 50;

/** From which of the newest refunds the keys of metadata are taken. */
const sampledForKeys = 200;

/**
 * Finds refunds by what a person knows of them: any id or its beginning, the value of any key of metadata that recent refunds have, or
 * an amount such as `42.10`. Every part is bounded, and reads an index.
 * @returns the most specific first, and then the newest.
 */
export async function findByText(
  db: Database,
  owner: RefundOwner,
  entered: string,
  limit: number,
): Promise<Hit[]> {
  const text = entered.trim();
  // PostgreSQL stores no NUL, and no id or value has other control characters.
  if (text === '' || text.length > longestSearch || /\p{Cc}|\p{Cs}/u.test(text)) return [];
  const parts = [...idParts(owner, text), metadataPart(owner, text), ...amountParts(owner, text)];
  const found = await db.$queryRaw<{ id: string; as: Hit['as'] }[]>`
    SELECT DISTINCT ON (id) id, as_kind AS "as" FROM (${Prisma.join(parts, ' UNION ALL ')}) AS found
    ORDER BY id, array_position(${[...kinds]}, as_kind) LIMIT ${kinds.length * candidates}`;
  const as = new Map(found.map(({ id, as }) => [id, as]));
  const refunds = await db.refund.findMany({
    where: { id: { in: [...as.keys()] } },
    include: { work: true },
  });
  return refunds
    .map((refund) => ({ refund, as: as.get(refund.id) ?? 'refund' }))
    .sort(
      (a, b) =>
        kinds.indexOf(a.as) - kinds.indexOf(b.as) ||
        b.refund.createdAt.getTime() - a.refund.createdAt.getTime(),
    )
    .slice(0, limit);
}

/** A part of the search: ids of refunds that are the owner's. */
function part(as: Hit['as'], select: Prisma.Sql): Prisma.Sql {
  return Prisma.sql`(SELECT id, ${as}::text AS as_kind FROM (${select} LIMIT ${candidates}) AS part)`;
}

function idParts(owner: RefundOwner, text: string): Prisma.Sql[] {
  if (!/^[\x21-\x7e]{3,}$/.test(text)) return [];
  const beginsWith = (column: Prisma.Sql) =>
    Prisma.sql`${column} ~>=~ ${text} AND ${column} ~<~ ${`${text}\u{10ffff}`}`;
  const created = timesOf(text);
  return [
    ...(created === null
      ? []
      : [
          part(
            'refund',
            Prisma.sql`SELECT id FROM refund
              WHERE ${ownerSql(owner)} AND created_at BETWEEN ${created.from} AND ${created.to}
                AND starts_with(id, ${text.toLowerCase()}) ORDER BY created_at DESC, id DESC`,
          ),
        ]),
    part('refund', Prisma.sql`SELECT id FROM refund WHERE id = ${text} AND ${comparedOwnerSql(owner)}`),
    part(
      'payment',
      Prisma.sql`SELECT id FROM refund WHERE payment_id = ANY (ARRAY(
        SELECT payment_id FROM payment_name
        WHERE ${ownerSql(owner)} AND ${beginsWith(Prisma.sql`name`)} LIMIT ${candidates}))`,
    ),
    part(
      'processor refund',
      Prisma.sql`SELECT id FROM refund
        WHERE ${ownerSql(owner)} AND ${beginsWith(Prisma.sql`external_refund_id`)}`,
    ),
  ];
}

const alphabet = '0123456789abcdefghjkmnpqrstvwxyz';
/** The first ten characters of an id are the milliseconds at which it was made. */
const timeLength = 10;
/** How far the clock that makes ids may be from that of the database. */
const skewMs = 60_000;

/** When refunds were created whose ids begin with a text; null if it is no beginning of an id. */
function timesOf(text: string): { from: Date; to: Date } | null {
  const [, written = ''] = /^ref_([0-7][0-9a-hjkmnp-tv-z]{1,25})$/.exec(text.toLowerCase()) ?? [];
  if (written === '') return null;
  const msOf = (filler: string) =>
    [...written.slice(0, timeLength).padEnd(timeLength, filler)].reduce(
      (ms, letter) => ms * 32 + alphabet.indexOf(letter),
      0,
    );
  const latest = Date.UTC(9999, 0);
  const dateOf = (ms: number) => new Date(Math.min(Math.max(ms, 0), latest));
  return { from: dateOf(msOf('0') - skewMs), to: dateOf(msOf('z') + skewMs) };
}

/** The text as the value of any key that recent refunds have, as it was written and in upper case. */
function metadataPart(owner: RefundOwner, text: string): Prisma.Sql {
  return part(
    'metadata',
    Prisma.sql`SELECT id FROM refund WHERE metadata_terms(organization_id, metadata) && ARRAY(
        SELECT unnest(metadata_terms(${owner.organizationId}, jsonb_build_object(key, value)))
        FROM (
          SELECT DISTINCT key FROM (
            SELECT metadata FROM refund WHERE ${ownerSql(owner)} ORDER BY created_at DESC, id DESC
            LIMIT ${sampledForKeys}) AS recent
          CROSS JOIN LATERAL jsonb_object_keys(CASE jsonb_typeof(metadata) WHEN 'object' THEN metadata END) AS key
          LIMIT 100) AS used
        CROSS JOIN unnest(${[...new Set([text, text.toUpperCase()])]}::text[]) AS value)
      AND metadata IS NOT NULL AND ${comparedOwnerSql(owner)}`,
  );
}

/** The text as an amount, in each currency that can have it: `42.10`, `42,10` or `42.10 usd`. */
function amountParts(owner: RefundOwner, text: string): Prisma.Sql[] {
  const [, number = '', decimals = '', code = ''] =
    /^(\d{1,12})(?:[.,](\d{1,4}))?\s*([a-z]{3})?$/i.exec(text) ?? [];
  const decimal = decimals === '' ? number : `${number}.${decimals}`;
  const named = code.toLowerCase();
  const fits = (currency: string) =>
    (named === '' || currency === named) && exponentOf(currency) >= decimals.length;
  const fitting = number === '' ? [] : currencies.filter(fits);
  const amounts = new Set(fitting.map((currency) => fromDecimal(decimal, currency)));
  const codesOf = (amount: bigint) => fitting.filter((currency) => fromDecimal(decimal, currency) === amount);
  return [...amounts].map((amount) =>
    part(
      'amount',
      Prisma.sql`SELECT id FROM refund
        WHERE ${ownerSql(owner)} AND amount = ${amount} AND currency = ANY (${codesOf(amount)})
        ORDER BY created_at DESC, id DESC`,
    ),
  );
}
