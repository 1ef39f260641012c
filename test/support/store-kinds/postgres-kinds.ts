import { randomUUID } from 'node:crypto';
import { inject, onTestFinished } from 'vitest';
import { MigrationError } from '#prisma/migrate.ts';
import { prepareDatabase } from '#prisma/prepare-database.ts';
import { startTlsFront } from '../http/tls-front.ts';
import { createDatabase, query } from '../stores/database-client.ts';
import { type PostgresPackage, startPostgres } from '../stores/embedded-postgres.ts';
import { giveToOwner, type OwnedDatabase } from '../stores/owned-database.ts';
import { documentedRoleSettings, isPgBouncerPresent, startPgBouncer } from '../stores/pgbouncer.ts';
import { type RunningRedis, startRedis } from '../stores/redis.ts';
import type { StoreKind, Stores } from './kind.ts';

const majors = [14, 15, 16, 17, 18];

/** As PostgreSQL 14 makes the schema, and pg_upgrade leaves it. */
const openPublic = 'ALTER SCHEMA public OWNER TO postgres; GRANT ALL ON SCHEMA public TO PUBLIC';

interface NewDatabase extends OwnedDatabase {
  superuserUrl: string;
}

async function newDatabase(serverUrl: string): Promise<NewDatabase> {
  const superuserUrl = await createDatabase(serverUrl, `stores_${randomUUID()}`);
  return { superuserUrl, ...(await giveToOwner(superuserUrl)) };
}

/** Migrates the database. What the migration tells an administrator to run first, is run. */
async function prepare(
  { superuserUrl, ownerUrl, serviceUrl }: NewDatabase,
  redisUrl: string | null = null,
): Promise<Stores> {
  const migrate = () => prepareDatabase({ ownerUrl, serviceUrl, redisUrl, log: () => {} });
  const stores = { databaseUrl: ownerUrl, serviceUrl, redisUrl };
  try {
    await migrate();
    return stores;
  } catch (error) {
    const asked = error instanceof MigrationError && /run (.+?) as an administrator/.exec(error.message)?.[1];
    if (!asked) throw error;
    await query(superuserUrl, asked);
    await migrate();
    return { ...stores, refused: error.message };
  }
}

async function onPackage(postgres: PostgresPackage | undefined, ...statements: string[]) {
  if (postgres === undefined) return null;
  const server = await startPostgres({ durable: false, postgres });
  onTestFinished(async () => void (await server.stop()));
  const database = await newDatabase(server.url);
  for (const statement of statements) await query(database.superuserUrl, statement);
  const stores = await prepare(database);
  // The next version's migration, too.
  await prepare(database);
  return stores;
}

async function behindPgBouncer(mode: 'session' | 'transaction', redis: Pick<RunningRedis, 'url'>) {
  const database = await newDatabase(inject('postgresUrl'));
  const stores = await prepare(database, redis.url);
  await query(database.ownerUrl, documentedRoleSettings(new URL(database.serviceUrl).username));
  const bouncer = await startPgBouncer(database.serviceUrl, mode);
  onTestFinished(async () => void (await bouncer.stop()));
  const settings = { DATABASE_PREPARED_STATEMENTS: false };
  return { ...stores, serviceUrl: bouncer.url, settings };
}

/** @param packages those that this machine has; read when a row is opened. */
export const postgresKinds = (packages: () => readonly PostgresPackage[]): StoreKind[] => {
  const ofMajor = (major: number) => packages().find((each) => each.major === major);
  const kinds: Omit<StoreKind, 'subject'>[] = [
    ...majors.map((major) => ({ name: `PostgreSQL ${major}`, open: () => onPackage(ofMajor(major)) })),
    ...majors.slice(1).map((major) => ({
      name: `PostgreSQL ${major}, schema public as of 14`,
      open: () => onPackage(ofMajor(major), openPublic),
    })),
    ...(['session', 'transaction'] as const).map((mode) => ({
      name: `PgBouncer, ${mode}`,
      async open() {
        const redis = inject('redisUrl') === null || !isPgBouncerPresent() ? null : await startRedis();
        if (redis === null) return null;
        onTestFinished(async () => void (await redis.stop()));
        return await behindPgBouncer(mode, redis);
      },
    })),
    {
      name: 'PostgreSQL over TLS, own authority',
      async open() {
        const stores = await prepare(await newDatabase(inject('postgresUrl')));
        const url = new URL(stores.serviceUrl ?? '');
        const front = await startTlsFront(Number(url.port), { protocol: 'postgres' });
        url.host = `localhost:${front.port}`;
        url.searchParams.set('sslmode', 'verify-full');
        return { ...stores, serviceUrl: url.href };
      },
    },
  ];
  return kinds.map((kind) => ({ ...kind, subject: 'PostgreSQL' }));
};
