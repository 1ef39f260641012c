import {
  closeSync,
  existsSync,
  mkdirSync,
  openSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
  writeSync,
} from 'node:fs';
import { dirname } from 'node:path';

/**
 * An append-only file of JSON arrays, one a line. Whatever changes before the process gets to write is one line, such as a
 * refund with its idempotency key, so that a kill never leaves half of it. Answers follow their line. There is no fsync,
 * because the sandbox must survive a killed process, not a power cut.
 */
export interface Journal {
  append(entry: unknown): void;
  /** Writes what has been appended, which happens soon anyway. */
  write(): void;
  close(): void;
}

export function readJournal(file: string): unknown[] {
  if (!existsSync(file)) return [];
  // An incomplete last line belongs to a request that was never answered.
  const lines = readFileSync(file, 'utf8').split('\n').slice(0, -1);
  return lines.flatMap((line, index) => {
    try {
      return JSON.parse(line) as unknown[];
    } catch {
      const place = `${file}:${index + 1}`;
      throw new Error(`${place} is not a line of the sandbox journal. Move the file away to start empty.`);
    }
  });
}

/** Rewrites the file with the given entries, which compacts it, and opens it for appending. Only its owner can read it. */
export function openJournal(file: string, entries: readonly unknown[]): Journal {
  mkdirSync(dirname(file), { recursive: true, mode: 0o700 });
  const fresh = `${file}.new`;
  // A mode applies only to a new file, and an interrupted start may have left one.
  rmSync(fresh, { force: true });
  const lines = entries.map((entry) => `${JSON.stringify([entry])}\n`);
  writeFileSync(fresh, lines.join(''), { mode: 0o600 });
  renameSync(fresh, file);
  const descriptor = openSync(file, 'a');
  let pending: unknown[] = [];

  const write = () => {
    if (pending.length === 0) return;
    const line = Buffer.from(`${JSON.stringify(pending)}\n`);
    // A single write may take only a part.
    for (let written = 0; written < line.length; ) written += writeSync(descriptor, line, written);
    pending = [];
  };
  return {
    append(entry) {
      if (pending.length === 0) setImmediate(write);
      pending.push(entry);
    },
    write,
    close() {
      write();
      closeSync(descriptor);
    },
  };
}
