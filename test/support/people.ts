import { randomBytes } from 'node:crypto';
import { hash } from '@node-rs/argon2';
import { createOrganization } from '#shared/organizations/create-organization.ts';
import { createUser } from '#shared/people/members/users.ts';
import { type HashLimiter, openHashLimiter } from '#shared/people/sign-in/hash-limiter.ts';
import type { Proof } from '#shared/people/sign-in/sessions.ts';
import type { Clock } from '#shared/platform/clock.ts';
import type { Database, Role } from '#shared/platform/database.ts';
import { type Logger, openLog } from '#shared/platform/log.ts';
import type { EncryptionSettings } from '#shared/platform/secrets/secrets.ts';
import { madeBeforeTests } from './made-before-tests.ts';
import { useDatabase } from './stores/database.ts';
import { openTestDatabase } from './stores/open-database.ts';
import { asService } from './stores/service-role.ts';

/** A user with a known password. */
export interface TestPerson {
  userId: string;
  email: string;
  password: string;
}

/** The dependencies of shared/people on an own database, with a clock that tests advance. */
export interface TestPeople {
  databaseUrl: string;
  deps: {
    db: Database;
    clock: Clock;
    hashLimiter: HashLimiter;
    log: Logger;
    settings: EncryptionSettings;
  };
  /** Milliseconds since 1970, which stand still until a test adds to them. */
  time: { ms: number };
  addOrganization(): Promise<string>;
  addPerson(organizationId: string, role: Role): Promise<TestPerson>;
  /** The actions of the audit log, oldest first. */
  audited(target: string): Promise<string[]>;
}

/** Gives a test file or `describe` block a database without users. */
export function usePeople(): TestPeople {
  const databaseUrl = useDatabase();
  return madeBeforeTests(
    'The database of people',
    async () => peopleOf(databaseUrl()),
    ({ deps }) => deps.db.$disconnect(),
  );
}

function peopleOf(databaseUrl: string): TestPeople {
  const time = { ms: Date.parse('2026-03-01T12:00:00Z') };
  const db = openTestDatabase(asService(databaseUrl), 10);
  const settings = { ENCRYPTION_KEY: randomBytes(32).toString('base64'), ENCRYPTION_PREVIOUS_KEYS: [] };
  const clock = { now: () => new Date(time.ms) };
  const deps = { db, clock, hashLimiter: openHashLimiter(), log: openLog('silent', 'test'), settings };
  return {
    databaseUrl,
    deps,
    time,
    addOrganization: async () => (await createOrganization(deps, { name: 'Acme', actor: 'test' })).id,
    addPerson: (organizationId, role) => newPerson(deps, organizationId, role),
    async audited(target) {
      const rows = await db.auditLog.findMany({ where: { target }, orderBy: { id: 'asc' } });
      return rows.map(({ action }) => action);
    },
  };
}

/** Adds a user to an organization. The password is hashed at the lowest cost, to which every sign-in then checks it. */
export async function newPerson(
  deps: Parameters<typeof createUser>[0],
  organizationId: string,
  role: Role,
): Promise<TestPerson> {
  const email = newEmail();
  const password = randomBytes(9).toString('base64url');
  const hashLimiter: HashLimiter = async <T>() => (await hash(password, lowestCost)) as T;
  const { id } = await createUser(
    { ...deps, hashLimiter },
    { organizationId, email, password, role, actor: 'test' },
  );
  return { userId: id, email, password };
}

const lowestCost = { memoryCost: 8, timeCost: 1, parallelism: 1 };

/** A limiter that is busy in both lanes and allows no queue. */
export function fullLimiter(): HashLimiter {
  const limiter = openHashLimiter({ concurrency: 1, queueLimit: 0 });
  for (const lane of ['open', 'reserved'] as const) {
    void limiter({ lane, of: 'someone else' }, (inLane) => inLane(() => new Promise(() => undefined)));
  }
  return limiter;
}

/** Proof of the present password, to start a session with. */
export async function proofOf(db: Database, userId: string): Promise<Proof> {
  const { passwordHash } = await db.user.findUniqueOrThrow({ where: { id: userId } });
  return { userId, passwordHash };
}

/** An unused email address. */
export function newEmail(): string {
  return `person-${randomBytes(5).toString('hex')}@example.com`;
}

/** How many concurrent calls succeeded, and the errors of the others. */
export async function outcomesOf(
  tries: readonly Promise<unknown>[],
): Promise<{ done: number; refusals: { code: string; message: string }[] }> {
  const settled = await Promise.allSettled(tries);
  const refusals = settled.flatMap((each) => (each.status === 'rejected' ? [each.reason] : []));
  return { done: settled.length - refusals.length, refusals };
}
