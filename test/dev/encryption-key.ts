import { randomBytes } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { writePrivateFile } from './dev-file.ts';

/** The key of a data directory, made when it is first needed: what was encrypted once must open for ever. */
export function readEncryptionKey(dataDir: string): string {
  const path = join(dataDir, 'encryption.key');
  if (!existsSync(path)) writePrivateFile(path, `${randomBytes(32).toString('base64')}\n`);
  return readFileSync(path, 'utf8').trim();
}
