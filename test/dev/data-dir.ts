import { createHash, randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { existsSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { connect, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { z } from 'zod';
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
 * Locks a data directory for this process: who listens on its socket has it, and tells its process id there.
 * @returns releases the lock.
 * @throws StartError when a running process holds the lock.
 */
export async function claimDataDir(dataDir: string): Promise<() => void> {
  // The path of a socket must be short.
  const name = createHash('sha256').update(dataDir).digest('hex').slice(0, 16);
  const path =
    process.platform === 'win32'
      ? `\\\\.\\pipe\\refund-dev-${name}`
      : join(tmpdir(), `refund-dev-${name}.sock`);
  const server = createServer((asking) => asking.end(String(process.pid)));
  const listen = () => {
    server.listen(path);
    return once(server, 'listening');
  };
  try {
    await listen();
  } catch {
    const holder = await holderOf(path);
    if (holder !== null) {
      throw new StartError(
        `npm run dev already runs in ${dataDir} (process ${holder}). Stop it, or set DATA_DIR and PORT to run a second one.`,
      );
    }
    // Of a process that was killed.
    rmSync(path, { force: true });
    await listen();
  }
  server.unref();
  return () => void server.close();
}

async function holderOf(path: string): Promise<string | null> {
  try {
    return await text(connect(path));
  } catch {
    return null;
  }
}
