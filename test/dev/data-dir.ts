import { randomBytes } from 'node:crypto';
import { existsSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { z } from 'zod';
import { LockedError, takeLock } from '../support/processes/process-lock.ts';
import { StartError } from './program.ts';

/** The content of `dev.json`, by which people and tools find the running service. */
const devFileSchema = z.strictObject({
  apiUrl: z.string(),
  organizationId: z.string(),
  keys: z.strictObject({ test: z.string(), live: z.string() }),
  dashboard: z.strictObject({ url: z.string(), email: z.string(), password: z.string() }),
  sandboxUrl: z.string(),
  databaseUrl: z.string(),
  databaseOwnerUrl: z.string(),
  redisUrl: z.string().nullable(),
  processes: z.strictObject({ api: z.int(), workers: z.array(z.int()), sandbox: z.int() }),
});

export type DevFile = z.infer<typeof devFileSchema>;

/** The path of `dev.json` in a data directory. */
export function devFilePath(dataDir: string): string {
  return join(dataDir, 'dev.json');
}

/** The file of an earlier start; null when there is none or it is not valid. */
export function readDevFile(dataDir: string): DevFile | null {
  const path = devFilePath(dataDir);
  if (!existsSync(path)) return null;
  try {
    return devFileSchema.parse(JSON.parse(readFileSync(path, 'utf8')));
  } catch {
    return null;
  }
}

/** Replaces the file atomically. */
export function writeDevFile(dataDir: string, content: DevFile): void {
  writePrivateFile(devFilePath(dataDir), `${JSON.stringify(content, null, 2)}\n`);
}

/** Writes a file that only its owner can read. A reader sees the old content or the new, never a part. */
function writePrivateFile(path: string, content: string): void {
  const draft = `${path}.${process.pid}`;
  // A mode applies only to a new file, and an interrupted start may have left one.
  rmSync(draft, { force: true });
  writeFileSync(draft, content, { mode: 0o600 });
  renameSync(draft, path);
}

/** The encryption key of a data directory, created on first use. */
export function readEncryptionKey(dataDir: string): string {
  const path = join(dataDir, 'encryption.key');
  if (!existsSync(path)) writePrivateFile(path, `${randomBytes(32).toString('base64')}\n`);
  return readFileSync(path, 'utf8').trim();
}

/**
 * Locks a data directory for this process.
 * @returns releases the lock.
 * @throws StartError when a running process holds the lock.
 */
export function claimDataDir(dataDir: string): () => void {
  try {
    return takeLock(join(dataDir, 'dev.lock'));
  } catch (error) {
    if (!(error instanceof LockedError)) throw error;
    throw new StartError(
      error.holder === null
        ? `Another npm run dev has just started in ${dataDir}.`
        : `npm run dev already runs in ${dataDir} (process ${error.holder}). Stop it, or set DATA_DIR and PORT to run a second one.`,
    );
  }
}
