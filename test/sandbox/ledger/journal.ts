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
 * An append-only file, one JSON array per line. A line is one change of state, such as a refund with its idempotency key,
 * so that a kill never leaves half of it. Requests that arrive together share one write, and answers wait for it. There is
 * no fsync, because the sandbox must survive a killed process, not a power cut.
 */
export interface Journal {
  append(records: readonly unknown[]): void;
  /** Runs `action` once everything appended so far is in the file. */
  onceWritten(action: () => void): void;
  close(): void;
}

export function readJournal(file: string): unknown[] {
  if (!existsSync(file)) return [];
  const lines = readFileSync(file, 'utf8').split('\n');
  // An incomplete last line belongs to a request that was never answered.
  const complete = lines.slice(0, -1);
  return complete.flatMap((line, index) => parseLine(line, file, index + 1));
}

function parseLine(line: string, file: string, lineNumber: number): unknown[] {
  try {
    return JSON.parse(line) as unknown[];
  } catch {
    throw new Error(
      `${file}:${lineNumber} is not a line of the sandbox journal. Move the file away to start empty.`,
    );
  }
}

/** Rewrites the file with the given records, which compacts it, and opens it for appending. Only its owner can read it. */
export function openJournal(file: string, records: readonly unknown[]): Journal {
  mkdirSync(dirname(file), { recursive: true, mode: 0o700 });
  const fresh = `${file}.new`;
  // A mode applies only to a new file, and an interrupted start may have left one.
  rmSync(fresh, { force: true });
  const lines = records.map((record) => `${JSON.stringify([record])}\n`);
  writeFileSync(fresh, lines.join(''), { mode: 0o600 });
  renameSync(fresh, file);
  return new FileJournal(openSync(file, 'a'));
}

class FileJournal implements Journal {
  readonly #descriptor: number;
  #lines: string[] = [];
  #waiting: (() => void)[] = [];

  constructor(descriptor: number) {
    this.#descriptor = descriptor;
  }

  append(changes: readonly unknown[]): void {
    if (this.#lines.length === 0) setImmediate(() => this.#write());
    this.#lines.push(`${JSON.stringify(changes)}\n`);
  }

  onceWritten(action: () => void): void {
    if (this.#lines.length === 0) action();
    else this.#waiting.push(action);
  }

  close(): void {
    this.#write();
    closeSync(this.#descriptor);
  }

  #write(): void {
    // `close` may have written them.
    if (this.#lines.length === 0) return;
    writeAll(this.#descriptor, Buffer.from(this.#lines.join('')));
    const answers = this.#waiting;
    this.#lines = [];
    this.#waiting = [];
    for (const answer of answers) answer();
  }
}

/** A single write may take only a part. */
function writeAll(descriptor: number, bytes: Buffer): void {
  let written = 0;
  while (written < bytes.length) written += writeSync(descriptor, bytes, written);
}
