import { currencies, exponentOf, fromDecimal } from '../../money/money.ts';
import { type Database, Prisma } from '../../platform/database.ts';
import { processorKind, processorNames } from '../../processors/registry.ts';
import type { RefundOwner, RefundWithWork } from '../model/refund.ts';
import { comparedOwnerSql, metadataWordSql, ownerSql } from './refund-filter.ts';

/** What a text was found as, the most specific first. */
const kinds = ['refund', 'payment', 'processor refund', 'metadata', 'amount', 'part'] as const;

/** A refund that a text leads to. */
export interface Hit {
  refund: RefundWithWork;
  as: (typeof kinds)[number];
}

export const longestSearch = 200;

/** How many refunds of each kind are looked at, at most. */
const candidates = 50;

/** In how many of the newest refunds a text is found anywhere within an ID or a value. */
const searchedAnywhere = 1_000;
const shortestPart = 4;

/**
 * Finds refunds by what a person knows of them: an id or its beginning, with or without its prefix; a value of the metadata, or a word of
 * one, also behind a `#` or a name as in `order 20150`; an amount such as `42.10` or `$42.10`; of the newest refunds also any part of an
 * id or a value. Every part is bounded, and reads an index.
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
  const parts = [
    ...idParts(owner, text),
    ...valuesIn(text).map((value) => metadataPart(owner, value)),
    ...amountParts(owner, text),
    ...(text.length < shortestPart || text.endsWith('_') ? [] : [newestPart(owner, text)]),
  ];
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

/** What the ids of processors begin with. */
const idPrefixes = processorNames.flatMap((name) => processorKind(name).idPrefixes);

function idParts(owner: RefundOwner, text: string): Prisma.Sql[] {
  if (!/^[\x21-\x7e]{3,}$/.test(text)) return [];
  const beginnings = text.includes('_') ? [text] : ['', ...idPrefixes].map((prefix) => `${prefix}${text}`);
  const ofBeginnings = (found: (beginsSo: (column: Prisma.Sql) => Prisma.Sql) => Prisma.Sql) =>
    Prisma.join(
      beginnings.map((beginning) => {
        const end = `${beginning}\u{10ffff}`;
        return found((column) => Prisma.sql`${column} ~>=~ ${beginning} AND ${column} ~<~ ${end}`);
      }),
      ' UNION ALL ',
    );
  const created = timesOf(text);
  const id = text.startsWith('ref_') ? text : `ref_${text}`;
  return [
    ...(created === null
      ? []
      : [
          part(
            'refund',
            Prisma.sql`SELECT id FROM refund
              WHERE ${ownerSql(owner)} AND created_at BETWEEN ${created.from} AND ${created.to}
                AND starts_with(id, ${id.toLowerCase()}) ORDER BY created_at DESC, id DESC`,
          ),
        ]),
    part('refund', Prisma.sql`SELECT id FROM refund WHERE id = ${text} AND ${comparedOwnerSql(owner)}`),
    part(
      'payment',
      Prisma.sql`SELECT id FROM refund WHERE payment_id = ANY (ARRAY(${ofBeginnings(
        (beginsSo) => Prisma.sql`(SELECT payment_id FROM payment_name
          WHERE ${ownerSql(owner)} AND ${beginsSo(Prisma.sql`name`)} LIMIT ${candidates})`,
      )}))`,
    ),
    part(
      'processor refund',
      Prisma.sql`SELECT id FROM (${ofBeginnings(
        (beginsSo) => Prisma.sql`(SELECT id FROM refund
          WHERE ${ownerSql(owner)} AND ${beginsSo(Prisma.sql`external_refund_id`)} LIMIT ${candidates})`,
      )}) AS begun`,
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
  const [, written = ''] = /^(?:ref_)?([0-7][0-9a-hjkmnp-tv-z]{1,25})$/.exec(text.toLowerCase()) ?? [];
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

/** The text as a value of metadata; `order 20150` is also that of an order. */
function valuesIn(text: string): string[] {
  const [, value] = /^\p{L}+[\s:#]+(.*\d.*)$/u.exec(text) ?? [];
  return value === undefined ? [text] : [text, value];
}

/** The refunds with a value of metadata, or a word of it. They are found before they are counted, so that the planner cannot scan the list. */
function metadataPart(owner: RefundOwner, value: string): Prisma.Sql {
  return part(
    'metadata',
    Prisma.sql`WITH with_words AS MATERIALIZED (
        SELECT id FROM refund
        WHERE ${metadataWordSql(owner.organizationId, value)} AND ${comparedOwnerSql(owner)})
      SELECT id FROM with_words`,
  );
}

/** The newest refunds that have the text anywhere within an id or a value. */
function newestPart(owner: RefundOwner, text: string): Prisma.Sql {
  return part(
    'part',
    Prisma.sql`SELECT id FROM (
        SELECT id, transaction_id, external_refund_id, metadata FROM refund WHERE ${ownerSql(owner)}
        ORDER BY created_at DESC, id DESC LIMIT ${searchedAnywhere}) AS newest
      WHERE strpos(lower(concat_ws(' ', id, transaction_id, external_refund_id, jsonb_path_query_array(metadata, '$.*'))),
        ${text.toLowerCase()}) > 0`,
  );
}

/** The text as an amount, in each currency that can have it: `42.10`, `42,10`, `$42.10` or `42.10 usd`. Signs stand for many currencies. */
function amountParts(owner: RefundOwner, text: string): Prisma.Sql[] {
  const [, number = '', decimals = '', code = ''] =
    /^\p{Sc}?\s*(\d{1,12})(?:[.,](\d{1,4}))?\s*(?:\p{Sc}|([a-z]{3}))?$/iu.exec(text) ?? [];
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
