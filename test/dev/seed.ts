import { randomBytes } from 'node:crypto';
import { createApiKey, hashApiKey } from '../../shared/organizations/api-keys.ts';
import { createOrganization } from '../../shared/organizations/create-organization.ts';
import { openHashLimiter } from '../../shared/people/passwords.ts';
import { createUser } from '../../shared/people/users.ts';
import { systemClock } from '../../shared/platform/clock.ts';
import { openDatabase } from '../../shared/platform/database.ts';
import type { Environment } from '../../shared/platform/environment.ts';
import { SecretBox } from '../../shared/platform/secrets.ts';
import type { DevFile } from './dev-file.ts';
import { actor, pointAccountsAtSandbox, type SeedDependencies } from './seed-accounts.ts';

/** What a development service cannot do without; people get it from `dev.json`. */
export type Seed = Pick<DevFile, 'organizationId' | 'keys'> & {
  owner: { email: string; password: string };
};

export interface SeedOptions {
  databaseUrl: string;
  encryptionKey: string;
  sandboxUrl: string;
  /** Made by an earlier start; kept where it still holds, and put back where the database has lost it. */
  remembered: DevFile | null;
}

const organizationName = 'Development';

/** Makes sure that there are an organization, its keys, its owner and its accounts at the sandbox. */
export async function seed(options: SeedOptions): Promise<Seed> {
  const { databaseUrl, encryptionKey, sandboxUrl, remembered } = options;
  const db = openDatabase(databaseUrl, { poolSize: 2 });
  const deps = {
    db,
    clock: systemClock,
    secrets: new SecretBox([encryptionKey]),
    hashLimiter: openHashLimiter(),
  };
  try {
    const organizationId = await ensureOrganization(deps, remembered);
    const test = await ensureKey(deps, organizationId, 'test', remembered);
    const live = await ensureKey(deps, organizationId, 'live', remembered);
    const owner = await ensureOwner(deps, organizationId, remembered);
    await pointAccountsAtSandbox(deps, organizationId, sandboxUrl);
    return { organizationId, keys: { test, live }, owner };
  } finally {
    await db.$disconnect();
  }
}

async function ensureOrganization(deps: SeedDependencies, remembered: DevFile | null): Promise<string> {
  const known = await deps.db.organization.findFirst({
    where: remembered === null ? { name: organizationName } : { id: remembered.organizationId },
    orderBy: { createdAt: 'asc' },
  });
  return known?.id ?? (await createOrganization(deps, { name: organizationName, actor })).id;
}

/** A key that was revoked, or that another organization has in this database, is replaced by a new one. */
async function ensureKey(
  deps: SeedDependencies,
  organizationId: string,
  environment: Environment,
  remembered: DevFile | null,
): Promise<string> {
  const request = { organizationId, environment, actor };
  const plaintext = remembered?.keys[environment];
  if (plaintext === undefined) return (await createApiKey(deps, request)).plaintext;
  const known = await deps.db.apiKey.findUnique({ where: { hash: hashApiKey(plaintext) } });
  if (known?.organizationId === organizationId && known.revokedAt === null) return plaintext;
  return (await createApiKey(deps, known === null ? { ...request, plaintext } : request)).plaintext;
}

async function ensureOwner(
  deps: SeedDependencies,
  organizationId: string,
  remembered: DevFile | null,
): Promise<Seed['owner']> {
  const { email, password } = remembered?.dashboard ?? newOwner('owner@example.com');
  const known = await deps.db.user.findUnique({ where: { email }, include: { memberships: true } });
  if (remembered !== null && known?.memberships.some((member) => member.organizationId === organizationId)) {
    return { email, password };
  }
  // Nobody knows the password of an owner that was not remembered, so another one is made.
  const owner =
    known === null ? { email, password } : newOwner(`owner-${randomBytes(3).toString('hex')}@example.com`);
  await createUser(deps, { ...owner, organizationId, role: 'owner', actor });
  return owner;
}

function newOwner(email: string): Seed['owner'] {
  return { email, password: randomBytes(12).toString('base64url') };
}
