import { readFile } from 'node:fs/promises';
import { userInfo } from 'node:os';
import { text } from 'node:stream/consumers';
import { setTimeout as sleep } from 'node:timers/promises';
import {
  closeDependencies,
  type Dependencies,
  openDependencies,
  untilClockStarted,
} from '#shared/dependencies.ts';
import { loadServiceSettings } from '#shared/platform/config.ts';
import { openLog } from '#shared/platform/log.ts';
import { readStrictJson } from '../../http/strict-json.ts';
import { explain } from './output.ts';

/** Why a command could not do what it was asked to; the message is one line for the person at the terminal. */
export class CommandError extends Error {
  override readonly name = 'CommandError';
}

/** How long a command waits for connections to close. A connection to an unreachable store may never close. */
const closingTimeoutMs = 3_000;

/** The dependencies of the service, and who runs the command, for timelines and the audit log. */
export interface Session extends Dependencies {
  actor: string;
}

/**
 * Connects to the service's database for the work of a command, and disconnects again so that the process ends.
 * @throws ConfigError when DATABASE_URL or ENCRYPTION_KEY is missing.
 */
export async function withSession(work: (session: Session) => Promise<void>): Promise<void> {
  const settings = loadServiceSettings();
  // Errors alone: the command reports what is expected, and workers do not depend on the queue.
  const deps = openDependencies(
    { ...settings, DATABASE_POOL_SIZE: 2 },
    openLog('error', 'admin', process.stderr),
  );
  try {
    await untilClockStarted(deps);
    await work({ ...deps, actor: `cli:${userName()}` });
  } finally {
    await Promise.race([closeDependencies(deps), sleep(closingTimeoutMs, undefined, { ref: false })]);
  }
}

/** A container may run under a user id without a name. */
function userName(): string {
  try {
    return userInfo().username;
  } catch {
    return `uid-${process.getuid?.() ?? 'unknown'}`;
  }
}

/**
 * Reads JSON from a file, or from stdin if the file is missing or `-`. Errors never quote the content, which may be a
 * secret.
 * @param what the name of the content in messages, such as `credentials`.
 * @throws CommandError if the file cannot be read or is not strict JSON.
 */
export async function readJson(file: string | undefined, what: string): Promise<unknown> {
  const source = file === undefined || file === '-' ? 'stdin' : file;
  const content = source === 'stdin' ? await readStdin(what) : await readNamed(source, what);
  if (content.trim() === '') throw new CommandError(`The ${what} from ${source} are empty.`);
  const reading = readStrictJson(content, () => 'a number in it cannot be stored exactly');
  if (reading.kind === 'valid') return reading.value;
  throw new CommandError(`The ${what} from ${source} cannot be used: ${reading.problem}.`);
}

async function readStdin(what: string): Promise<string> {
  if (process.stdin.isTTY) explain(`Paste the ${what} as JSON, then press Ctrl-D on a line of its own.`);
  return await text(process.stdin);
}

async function readNamed(file: string, what: string): Promise<string> {
  try {
    return await readFile(file, 'utf8');
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? error.code : 'unknown error';
    throw new CommandError(`The ${what} cannot be read from ${file}: ${code}.`);
  }
}
