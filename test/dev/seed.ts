import { randomBytes } from 'node:crypto';
import { isDeepStrictEqual } from 'node:util';
import type { Dependencies } from '#shared/dependencies.ts';
import { apiKeyScopes, createApiKey } from '#shared/organizations/api-keys.ts';
import { createOrganization } from '#shared/organizations/create-organization.ts';
import { hashApiKey } from '#shared/organizations/find-api-key.ts';
import { createUser } from '#shared/people/members/users.ts';
import { openHashLimiter } from '#shared/people/sign-in/hash-limiter.ts';
import { openDatabase, type ProcessorAccount } from '#shared/platform/database.ts';
import type { Environment } from '#shared/platform/environment.ts';
import { SecretBox } from '#shared/platform/secrets/secrets.ts';
import { credentialContext } from '#shared/processors/accounts/account.ts';
import { setProcessorAccount } from '#shared/processors/accounts/manage-accounts.ts';
import { sandboxCredentials } from '../sandbox/processors.ts';
import type { DevFile } from './data-dir.ts';

/** What `npm run dev` creates in the database and writes to `dev.json`. */
export type Seed = Pick<DevFile, 'organizationId' | 'keys'> & {
  owner: { email: string; password: string };
};

export interface SeedOptions {
  databaseUrl: string;
  encryptionKey: string;
  sandboxUrl: string;
  /** Of an earlier start. What is still valid is kept, and keys that the database has lost are restored. */
  remembered: DevFile | null;
}

const organizationName = 'Development';

/** Creates what is missing: an organization, its keys, its owner and its accounts at the sandbox. */
export async function seed(options: SeedOptions): Promise<Seed> {
  const { databaseUrl, encryptionKey, sandboxUrl, remembered } = options;
  const db = openDatabase(databaseUrl, { poolSize: 2 });
  const deps = {
    db,
    clock: { now: () => new Date() },
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

/** Replaces a key that was revoked or belongs to another organization. */
async function ensureKey(
  deps: SeedDependencies,
  organizationId: string,
  environment: Environment,
  remembered: DevFile | null,
): Promise<string> {
  const request = {
    organizationId,
    environment,
    actor,
    scopes: apiKeyScopes,
    name: `Development, ${environment}`,
  };
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
  const known = await deps.db.user.findFirst({ where: { email }, include: { memberships: true } });
  if (remembered !== null && known?.memberships.some((member) => member.organizationId === organizationId)) {
    return { email, password };
  }
  // The password of an owner that is not in dev.json is unknown, so another owner is created.
  const owner =
    known === null ? { email, password } : newOwner(`owner-${randomBytes(3).toString('hex')}@example.com`);
  await createUser(deps, { ...owner, organizationId, role: 'owner', actor });
  return owner;
}

function newOwner(email: string): Seed['owner'] {
  return { email, password: randomBytes(12).toString('base64url') };
}

export type SeedDependencies = Pick<Dependencies, 'db' | 'clock' | 'secrets' | 'hashLimiter'>;

/** The actor in the audit log. */
const actor = 'dev';

const environments = ['test', 'live'] as const;

/**
 * Sets up an account at each processor, test and live, that leads to the sandbox. Accounts with other credentials are not
 * changed.
 */
async function pointAccountsAtSandbox(
  deps: SeedDependencies,
  organizationId: string,
  sandboxUrl: string,
): Promise<void> {
  const accounts = await deps.db.processorAccount.findMany({ where: { organizationId } });
  for (const environment of environments) {
    for (const [processor, ours] of Object.entries(sandboxCredentials(environment, sandboxUrl))) {
      const account = accounts.find((row) => row.environment === environment && row.processor === processor);
      if (account !== undefined && !isOutdated(deps, account, ours)) continue;
      await setProcessorAccount(deps, { organizationId, environment, processor, credentials: ours, actor });
    }
  }
}

/**
 * True for an account at the sandbox with an earlier address or incomplete credentials, and for one that cannot be
 * decrypted.
 */
function isOutdated(
  { secrets }: SeedDependencies,
  account: ProcessorAccount,
  ours: Record<string, string>,
): boolean {
  const stored = readCredentials(secrets, account);
  if (stored === null) return true;
  const { apiBase: _, ...rest } = stored;
  const isOurs = Object.entries(rest).every(([name, value]) => ours[name] === value);
  return isOurs && !isDeepStrictEqual(stored, ours);
}

function readCredentials(
  secrets: SeedDependencies['secrets'],
  account: ProcessorAccount,
): Record<string, unknown> | null {
  const { encryptionKeyId: keyId, encryptedCredentials: bytes } = account;
  if (keyId === null || bytes === null) return null;
  try {
    return JSON.parse(secrets.open({ keyId, bytes }, credentialContext(account)));
  } catch {
    return null;
  }
}
