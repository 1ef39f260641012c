import {
  appendFileSync,
  closeSync,
  existsSync,
  mkdirSync,
  openSync,
  readFileSync,
  renameSync,
  writeFileSync,
} from 'node:fs';
import { dirname } from 'node:path';

/**
 * An append-only file, one JSON array per line. A line is one change of state, whole or absent: what belongs together
 * (a refund and the idempotency key that made it) is never half there after a kill. The write happens before the answer;
 * fsync is left out on purpose, because the sandbox has to survive a killed process, not a power cut.
 */
export interface Journal {
  append(records: readonly unknown[]): void;
  close(): void;
}

export function readJournal(file: string): unknown[] {
  if (!existsSync(file)) return [];
  const lines = readFileSync(file, 'utf8').split('\n');
  // Everything after the last newline is a line whose writer died in the middle; nobody was ever answered for it.
  const complete = lines.slice(0, -1);
  return complete.flatMap((line, index) => parseLine(line, file, index + 1));
}

function parseLine(line: string, file: string, lineNumber: number): unknown[] {
  try {
    return JSON.parse(line) as unknown[];
  } catch {
    throw new Error(
      `${file}:${lineNumber} is not a line of the sandbox journal; move the file away to start empty`,
    );
  }
}

/** Starts the file anew with the given records (so that it does not grow for ever) and appends to it from then on. */
export function openJournal(file: string, records: readonly unknown[]): Journal {
  mkdirSync(dirname(file), { recursive: true });
  const fresh = `${file}.new`;
  writeFileSync(fresh, records.map((record) => `${JSON.stringify([record])}\n`).join(''));
  renameSync(fresh, file);
  const descriptor = openSync(file, 'a');
  return {
    append: (changes) => appendFileSync(descriptor, `${JSON.stringify(changes)}\n`),
    close: () => closeSync(descriptor),
  };
}
