import { type AuditAction, auditEverywhere } from '../../audit/audit-log.ts';
import type { Database, DatabaseTransaction, Stores } from '../../platform/database.ts';
import { ServiceError } from '../../platform/errors.ts';
import type { SecretBox } from '../../platform/secrets/secrets.ts';
import { forgetFailures } from './lockout.ts';
import { hashOfCode, newRecoveryCodes, normalizedCode, stepOfCode } from './one-time-passwords.ts';
import { currentProof, endSessionsOf, lockOwnSession, type Proof } from './sessions.ts';

interface SealingStores extends Stores {
  secrets: SecretBox;
}

/** A session of the user that makes a change; it must still exist. */
interface OwnSession {
  userId: string;
  sid: string;
}

/** What the secret is encrypted for: no other user's row can use it. */
export function secretContext(userId: string): string {
  return `second-factor/${userId}`;
}

/** A user's second factor, for display; null without one. */
export async function findSecondFactor(
  db: Database,
  userId: string,
): Promise<{ enabledAt: Date; recoveryCodesLeft: number } | null> {
  const factor = await db.secondFactor.findUnique({ where: { userId } });
  return factor && { enabledAt: factor.enabledAt, recoveryCodesLeft: factor.recoveryHashes.length };
}

/** What enabling a second factor gives. */
export interface EnabledSecondFactor {
  /** For a new session. */
  proof: Proof;
  /** In plain text; only their hashes are stored. */
  recoveryCodes: string[];
}

/**
 * Enables a second factor, or replaces the one that the user has, and ends all sessions of the user; the caller starts a
 * new one with the returned proof. The code counts as used.
 * @param request.secret the base32 secret that the user was shown.
 * @throws ServiceError validation_error for a wrong code; insufficient_scope when the session has ended.
 */
export async function enableSecondFactor(
  deps: SealingStores,
  request: OwnSession & { secret: string; code: string },
): Promise<EnabledSecondFactor> {
  const { userId, secret, code } = request;
  const now = deps.clock.now();
  const lastStep = stepOfCode(secret, normalizedCode(code), now);
  if (lastStep === null) {
    const message =
      'code: is incorrect. Check the clock of your device and enter the code that it shows now.';
    throw new ServiceError('validation_error', message);
  }
  const recoveryCodes = newRecoveryCodes();
  const { keyId: encryptionKeyId, bytes: encryptedSecret } = deps.secrets.seal(secret, secretContext(userId));
  const recoveryHashes = recoveryCodes.map(hashOfCode);
  const factor = { encryptedSecret, encryptionKeyId, lastStep, recoveryHashes, enabledAt: now };
  const proof = await changeOwn(deps, request, 'user.second_factor_enabled', async (tx) => {
    await tx.secondFactor.upsert({ where: { userId }, create: { userId, ...factor }, update: factor });
  });
  return { proof, recoveryCodes };
}

/**
 * Turns the user's own second factor off and ends all sessions of the user; the caller starts a new one.
 * @throws ServiceError validation_error without a second factor; insufficient_scope when the session has ended.
 */
export async function disableSecondFactor(deps: Stores, request: OwnSession): Promise<Proof> {
  return await changeOwn(deps, request, 'user.second_factor_disabled', (tx) => remove(tx, request.userId));
}

async function changeOwn(
  { db, clock }: Stores,
  { userId, sid }: OwnSession,
  action: AuditAction,
  change: (tx: DatabaseTransaction) => Promise<void>,
): Promise<Proof> {
  const now = clock.now();
  return await db.$transaction(async (tx) => {
    await lockOwnSession(tx, { userId, sid, now });
    await change(tx);
    await endSessionsOf(tx, userId, null);
    await auditEverywhere(tx, { userId, action }, now);
    return await currentProof(tx, userId);
  });
}

async function remove(tx: DatabaseTransaction, userId: string): Promise<void> {
  const { count } = await tx.secondFactor.deleteMany({ where: { userId } });
  if (count === 0) throw noSecondFactor();
}

function noSecondFactor(): ServiceError {
  return new ServiceError('validation_error', 'This user has no second factor.');
}

/**
 * Replaces all recovery codes.
 * @returns the new codes in plain text; only their hashes are stored.
 * @throws ServiceError validation_error without a second factor; insufficient_scope when the session has ended.
 */
export async function replaceRecoveryCodes(
  { db, clock }: Stores,
  { userId, sid }: OwnSession,
): Promise<string[]> {
  const recoveryCodes = newRecoveryCodes();
  const recoveryHashes = recoveryCodes.map(hashOfCode);
  const now = clock.now();
  await db.$transaction(async (tx) => {
    await lockOwnSession(tx, { userId, sid, now });
    const { count } = await tx.secondFactor.updateMany({ where: { userId }, data: { recoveryHashes } });
    if (count === 0) throw noSecondFactor();
    await auditEverywhere(tx, { userId, action: 'user.recovery_codes_replaced' }, now);
  });
  return recoveryCodes;
}

/**
 * Removes a user's second factor as an operator, ends all sessions of the user and clears the lockouts of codes, except those of
 * known browsers.
 * @throws ServiceError validation_error for a user without one.
 */
export async function resetSecondFactor(
  { db, clock }: Stores,
  { userId, actor }: { userId: string; actor: string },
): Promise<void> {
  await db.$transaction(async (tx) => {
    // Waits for sign-ins under way, whose sessions end here as well.
    await tx.$queryRaw`SELECT 1 FROM "user" WHERE id = ${userId} FOR NO KEY UPDATE`;
    await remove(tx, userId);
    await endSessionsOf(tx, userId, null);
    await forgetFailures(tx, { signInCodeOf: userId });
    await forgetFailures(tx, { codeInSessionOf: userId });
    await auditEverywhere(tx, { userId, actor, action: 'user.second_factor_reset' }, clock.now());
  });
}
