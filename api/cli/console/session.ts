import { userInfo } from 'node:os';
import { setTimeout as sleep } from 'node:timers/promises';
import {
  closeDependencies,
  type Dependencies,
  openDependencies,
  untilClockStarted,
} from '../../../shared/dependencies.ts';
import { loadServiceSettings } from '../../../shared/platform/config.ts';
import { openLog } from '../../../shared/platform/log.ts';

/** Why a command could not do what it was asked to; the message is one line for the person at the terminal. */
export class CommandError extends Error {
  override readonly name = 'CommandError';
}

/** How long a command waits for connections to close. A connection to an unreachable store may never close. */
const closingTimeoutMs = 3_000;

/**
 * Connects a command to the service's database, and disconnects it again so that the process ends.
 * @param work receives the actor for timelines and the audit log, named after the user of this machine.
 * @throws ConfigError when DATABASE_URL or ENCRYPTION_KEY is missing.
 */
export async function withDependencies(
  work: (deps: Dependencies, actor: string) => Promise<void>,
): Promise<void> {
  const settings = loadServiceSettings();
  // Silent, because the command reports errors itself and workers do not depend on the queue.
  const deps = openDependencies({ ...settings, DATABASE_POOL_SIZE: 2 }, openLog('silent', 'admin'));
  try {
    await untilClockStarted(deps);
    await work(deps, `cli:${userName()}`);
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
