import { randomInt } from 'node:crypto';
import { requireCreator } from '../access/creator.ts';
import { writeAudit } from '../audit/audit-log.ts';
import { newestApiVersion } from '../platform/api-versions.ts';
import type { ApiKey, DatabaseTransaction, Prisma, Stores } from '../platform/database.ts';
import type { Environment } from '../platform/environment.ts';
import { ServiceError } from '../platform/errors.ts';
import { isPrintable } from '../platform/formats/printable.ts';
import { newId } from '../platform/ids.ts';
import { changeOrganization, lockOrganization } from '../platform/organization.ts';
import { type AgentLimits, agentLimitsSchema } from '../policies/agent-limits.ts';
import { type CreatedEndpoint, createdEndpoints, disableEndpoints } from '../webhooks/created-endpoints.ts';
import { endPendingDeliveries } from '../webhooks/deliveries.ts';
import { type CreatedKey, createdKeys, revokeKeys } from './created-keys.ts';
import { hashApiKey, keyPattern } from './find-api-key.ts';
import { agentKeys } from './list-api-keys.ts';

/** What a key may do. Reading events needs `refunds:read`. */
export const apiKeyScopes = [
  'refunds:read',
  'refunds:write',
  'refunds:approve',
  'policies:read',
  'webhooks:manage',
  'keys:manage',
] as const;

export type ApiKeyScope = (typeof apiKeyScopes)[number];

/** The scopes that an agent key may have. */
export const agentScopes = [
  'refunds:read',
  'refunds:write',
  'policies:read',
] as const satisfies readonly ApiKeyScope[];

/** A key approves refunds, or manages webhook endpoints or other keys, only when it was made for that. */
export const defaultScopes: readonly ApiKeyScope[] = [...agentScopes];

/** The longest time until a key expires, in days. */
export const maxExpiryDays = 3_650;

/** The most keys that are neither revoked nor expired, per environment; also the most that are created in 24 hours. */
export const maxKeys = 1_000;

/** The most agent keys that are not revoked, per environment. */
export const maxAgentKeys = 100;

const dayMs = 86_400_000;

const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789';
const secretLength = 32;

/** Generates a key: the environment's prefix and 32 random letters and digits, 190 bits. */
export function generateApiKey(environment: Environment): string {
  const secret = Array.from({ length: secretLength }, () => alphabet[randomInt(alphabet.length)]).join('');
  return `svc_${environment}_${secret}`;
}

/** A key without its hash, for display. */
export type ApiKeySummary = Omit<ApiKey, 'hash'>;

export type ApiKeyStatus = 'active' | 'stopped' | 'expired' | 'revoked';

/** Whether a key works now. If not, the reason; a permanent one takes precedence. */
export function apiKeyStatus(key: ApiKeySummary, now: Date): ApiKeyStatus {
  if (key.revokedAt !== null) return 'revoked';
  if (key.expiresAt !== null && key.expiresAt <= now) return 'expired';
  return key.stoppedAt === null ? 'active' : 'stopped';
}

/** The time at which a key expires that is valid for this many days from now. */
export function expiryAfter(days: number, now: Date): Date {
  return new Date(now.getTime() + days * dayMs);
}

/** A key to be created. */
export interface NewApiKey {
  organizationId: string;
  environment: Environment;
  /** Who creates it: `user:<id>`, `cli:<user>` or `key:<id>`. This actor can never approve what the key requests. */
  actor: string;
  /** Up to 100 printable characters; empty for none. */
  name?: string;
  /** `defaultScopes` unless given. */
  scopes?: readonly ApiKeyScope[];
  /** Never unless given, or with the key that creates it. */
  expiresAt?: Date | null;
  /** Makes it an agent key. */
  agentLimits?: AgentLimits | null;
  /** A key to use instead of a random one; for development and tests. */
  plaintext?: string;
}

/**
 * Creates a key. Its plaintext is returned only here.
 * @throws ServiceError not_found for the organization; validation_error for a name that is too long or not printable, no
 * scopes, scopes that an agent may not have, an expiry in the past, too far ahead or after that of the key that creates it, too many
 * keys, or a malformed plaintext;
 * insufficient_scope or invalid_api_key when the actor may no longer create keys.
 */
export async function createApiKey(
  deps: Stores,
  request: NewApiKey,
): Promise<{ id: string; plaintext: string; key: ApiKeySummary }> {
  const { organizationId, environment, actor, agentLimits = null } = request;
  const now = deps.clock.now();
  const name = checkedKeyName(request.name ?? '');
  const scopes = checkedScopes(request.scopes ?? defaultScopes, agentLimits);
  const problem = request.expiresAt == null ? null : checkKeyExpiry(request.expiresAt, now);
  if (problem !== null) throw new ServiceError('validation_error', `expiresAt: ${problem}.`);
  const plaintext = checkedPlaintext(request.plaintext ?? generateApiKey(environment), environment);
  const id = newId('key');
  const lastFour = plaintext.slice(-4);
  const limits = agentLimits === null ? null : agentLimitsSchema.encode(agentLimits);
  const key = await changeOrganization(deps.db, organizationId, async (tx) => {
    const creator = await requireCreator(tx, request, 'keys:manage', now);
    const expiresAt = expiryWithin(creator.expiresAt, request.expiresAt ?? null);
    await checkKeyCount(tx, request, now);
    const row = {
      ...{ id, organizationId, environment, lastFour, name, scopes, expiresAt },
      ...{ apiVersion: newestApiVersion, createdBy: actor, createdAt: now },
    };
    const created = await tx.apiKey.create({
      data: { ...row, hash: hashApiKey(plaintext), ...(limits === null ? {} : { agentLimits: limits }) },
      omit: { hash: true },
    });
    const entry = { organizationId, actor, action: 'key.created', target: id } as const;
    const detail = {
      environment,
      lastFour,
      ...(name === '' ? {} : { name }),
      scopes: scopes.join(', '),
      ...(expiresAt === null ? {} : { expiresAt: expiresAt.toISOString() }),
      ...(limits === null ? {} : { limits }),
    };
    await writeAudit(tx, { ...entry, detail }, now);
    return created;
  });
  return { id, plaintext, key };
}

/**
 * When a key expires: as it was asked, or with the key that creates it, which would otherwise live on in it.
 * @throws ServiceError validation_error when that is asked for.
 */
function expiryWithin(latest: Date | null, asked: Date | null): Date | null {
  if (latest === null || asked === null || asked <= latest) return asked ?? latest;
  throw new ServiceError(
    'validation_error',
    `expiresAt: must not be after ${latest.toISOString()}, when the API key that creates it expires.`,
  );
}

/** Call it with the organization locked, so that concurrent requests do not exceed a maximum together. */
async function checkKeyCount(
  tx: DatabaseTransaction,
  { organizationId, environment, agentLimits = null }: NewApiKey,
  now: Date,
): Promise<void> {
  const limit = async (most: number, counted: Prisma.ApiKeyWhereInput, message: string) => {
    const count = await tx.apiKey.count({ where: { organizationId, environment, ...counted } });
    if (count >= most) throw new ServiceError('validation_error', message);
  };
  // Revoked keys are kept, and read wherever a person's keys are listed or revoked.
  await limit(
    maxKeys,
    { createdAt: { gt: new Date(now.getTime() - dayMs) } },
    `${maxKeys} API keys were created in this environment in the last 24 hours, the maximum. Use them longer, and try again later.`,
  );
  await limit(
    maxKeys,
    { revokedAt: null, OR: [{ expiresAt: null }, { expiresAt: { gt: now } }] },
    `This environment already has ${maxKeys} API keys that are neither revoked nor expired, the maximum. Revoke keys that are no longer used.`,
  );
  if (agentLimits === null) return;
  await limit(
    maxAgentKeys,
    agentKeys,
    `This environment already has ${maxAgentKeys} agent keys, the maximum. Revoke one first.`,
  );
}

/** What is wrong with the time at which a key is to expire, as the end of a sentence; null when nothing is. */
export function checkKeyExpiry(expiresAt: Date, now: Date): string | null {
  if (expiresAt <= now) return 'must be in the future';
  return expiresAt > expiryAfter(maxExpiryDays, now)
    ? `must be at most ${maxExpiryDays} days from now`
    : null;
}

/** What is wrong with the name of a key, as the end of a sentence; null when nothing is. */
export function checkKeyName(name: string): string | null {
  return isPrintable(name, { min: 0, max: 100 }) ? null : 'must be at most 100 printable characters';
}

/**
 * Trims and checks the name of a key.
 * @throws ServiceError validation_error as `checkKeyName`.
 */
export function checkedKeyName(text: string): string {
  const name = text.trim();
  const problem = checkKeyName(name);
  if (problem !== null) throw new ServiceError('validation_error', `name: ${problem}.`);
  return name;
}

function checkedScopes(scopes: readonly ApiKeyScope[], agentLimits: AgentLimits | null): ApiKeyScope[] {
  if (scopes.length === 0)
    throw new ServiceError('validation_error', 'scopes: must contain at least one scope.');
  const allowed: readonly ApiKeyScope[] = agentLimits === null ? apiKeyScopes : agentScopes;
  if (!scopes.every((scope) => allowed.includes(scope))) {
    throw new ServiceError('validation_error', `scopes: an agent key may have only ${allowed.join(', ')}.`);
  }
  return allowed.filter((scope) => scopes.includes(scope));
}

function checkedPlaintext(plaintext: string, environment: Environment): string {
  if (keyPattern.exec(plaintext)?.[1] === environment) return plaintext;
  throw new ServiceError(
    'validation_error',
    `plaintext: must be svc_${environment}_ followed by ${secretLength} letters and digits.`,
  );
}

/**
 * Revokes a key permanently, effective from the next request. Repeating it revokes only what is not revoked yet.
 * @param request.organizationId limits it to keys of this organization.
 * @param request.environment limits it to keys of this environment.
 * @param request.withCreated whether to revoke the keys that were created with it, too, and to disable the webhook endpoints that it
 * or they created, also when it is revoked already.
 * @returns the keys that were created with it, also through others, and that were, or could be, revoked; and these endpoints.
 * @throws ServiceError not_found for an unknown key.
 */
export async function revokeApiKey(
  deps: Stores,
  request: {
    organizationId?: string;
    environment?: Environment;
    keyId: string;
    actor: string;
    withCreated?: boolean;
  },
): Promise<{ alreadyRevoked: boolean; created: CreatedKey[]; endpoints: CreatedEndpoint[] }> {
  const { keyId, actor, withCreated = false } = request;
  const now = deps.clock.now();
  const revocation = await deps.db.$transaction(async (tx) => {
    const key = await tx.apiKey.findUnique({ where: { id: keyId } });
    if (key === null || !isAmong(key, request)) {
      throw new ServiceError('not_found', `API key not found: ${keyId}`);
    }
    await lockOrganization(tx, key.organizationId);
    const created = await createdKeys(tx, [`key:${keyId}`], now);
    const endpoints = await createdEndpoints(tx, [`key:${keyId}`]);
    const revoked = await revokeKeys(tx, withCreated ? [key, ...created] : [key], actor, now);
    if (withCreated) await disableEndpoints(tx, endpoints, actor, now);
    return { alreadyRevoked: !revoked.includes(keyId), created, endpoints };
  });
  if (withCreated) for (const { id } of revocation.endpoints) await endPendingDeliveries(deps.db, id);
  return revocation;
}

function isAmong(
  key: ApiKey,
  { organizationId, environment }: { organizationId?: string; environment?: Environment },
): boolean {
  const isOwn = organizationId === undefined || key.organizationId === organizationId;
  return isOwn && (environment === undefined || key.environment === environment);
}
