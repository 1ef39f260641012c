import { existsSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { z } from 'zod';

/** What `dev.json` holds, and nothing else: people and tools find the running service by it. */
const devFileSchema = z.strictObject({
  apiUrl: z.string(),
  organizationId: z.string(),
  keys: z.strictObject({ test: z.string(), live: z.string() }),
  dashboard: z.strictObject({ url: z.string(), email: z.string(), password: z.string() }),
  sandboxUrl: z.string(),
  databaseUrl: z.string(),
  redisUrl: z.string().nullable(),
  processes: z.strictObject({ api: z.int(), workers: z.array(z.int()), sandbox: z.int() }),
});

export type DevFile = z.infer<typeof devFileSchema>;

/** Where the file of a data directory is. */
export function devFilePath(dataDir: string): string {
  return join(dataDir, 'dev.json');
}

/** What an earlier start left behind; null when there is nothing, or nothing that can be used. */
export function readDevFile(dataDir: string): DevFile | null {
  const path = devFilePath(dataDir);
  if (!existsSync(path)) return null;
  try {
    return devFileSchema.parse(JSON.parse(readFileSync(path, 'utf8')));
  } catch {
    return null;
  }
}

/** Replaces the file as a whole: who reads it at the same time sees the old or the new one, never a part. */
export function writeDevFile(dataDir: string, content: DevFile): void {
  writePrivateFile(devFilePath(dataDir), `${JSON.stringify(content, null, 2)}\n`);
}

/** Writes a file that only we can read, beside its place first. */
export function writePrivateFile(path: string, content: string): void {
  const draft = `${path}.${process.pid}`;
  writeFileSync(draft, content, { mode: 0o600 });
  renameSync(draft, path);
}
