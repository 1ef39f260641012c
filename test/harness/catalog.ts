import type pg from 'pg';

/** What a database consists of, one sorted line per thing, so that two can be compared and the difference read. */
export interface Catalog {
  columns: string[];
  /** Without partial ones, which the schema cannot say and migrations make by hand. */
  indexes: string[];
  /** Primary, unique and foreign keys; CHECK constraints are not included. */
  keys: string[];
  enums: string[];
}

/** Reads the public schema, without Prisma's own history. */
export async function readCatalog(client: pg.Client): Promise<Catalog> {
  const lines = async (query: string) => {
    const { rows } = await client.query<{ line: string }>(query);
    return rows.map((row) => row.line).sort();
  };
  return {
    columns: await lines(columnsQuery),
    indexes: await lines(indexesQuery),
    keys: await lines(keysQuery),
    enums: await lines(enumsQuery),
  };
}

const ownTables = `n.nspname = 'public' and c.relname <> '_prisma_migrations'`;

const columnsQuery = `
  select concat_ws(' ', c.relname || '.' || a.attname, format_type(a.atttypid, a.atttypmod),
    case when a.attnotnull then 'not null' else 'null' end,
    'default ' || pg_get_expr(d.adbin, d.adrelid)) as line
  from pg_attribute a
  join pg_class c on c.oid = a.attrelid and c.relkind = 'r'
  join pg_namespace n on n.oid = c.relnamespace
  left join pg_attrdef d on d.adrelid = a.attrelid and d.adnum = a.attnum
  where ${ownTables} and a.attnum > 0 and not a.attisdropped`;

const indexesQuery = `
  select indexdef as line from pg_indexes where schemaname = 'public' and tablename <> '_prisma_migrations'
    and indexdef not like '% WHERE %'`;

const keysQuery = `
  select concat_ws(' ', c.relname, k.conname, pg_get_constraintdef(k.oid)) as line
  from pg_constraint k
  join pg_class c on c.oid = k.conrelid
  join pg_namespace n on n.oid = c.relnamespace
  where ${ownTables} and k.contype in ('p', 'u', 'f')`;

const enumsQuery = `
  select t.typname || ' ' || string_agg(e.enumlabel, ',' order by e.enumsortorder) as line
  from pg_type t
  join pg_enum e on e.enumtypid = t.oid
  group by t.typname`;
