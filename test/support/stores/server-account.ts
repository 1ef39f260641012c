import { execFileSync, spawnSync } from 'node:child_process';
import { existsSync, statSync } from 'node:fs';

/** The user to run PostgreSQL as; it refuses to run as root. */
export interface Account {
  uid: number;
  gid: number;
}

/** The arguments for `spawn`. */
export interface Launch {
  command: string;
  args: string[];
  options: { uid?: number; gid?: number };
}

/**
 * Chooses the account for a data directory: its owner when it exists, else `postgres` or `nobody`.
 * @returns null without root, when PostgreSQL runs as the current user.
 * @throws Error when the directory belongs to a user that this process cannot become.
 */
export function accountFor(dataDir: string): Account | null {
  const own = process.getuid?.();
  const owner = existsSync(dataDir) ? statSync(dataDir) : null;
  if (own !== 0) {
    if (owner === null || owner.uid === own) return null;
    throw new Error(`${dataDir} was made by another user; remove it, or run as that user.`);
  }
  if (owner !== null && owner.uid !== 0) return { uid: owner.uid, gid: owner.gid };
  const account = lookUp('postgres') ?? lookUp('nobody');
  if (account !== null) return account;
  throw new Error(
    'PostgreSQL does not run as root, and there is no user "postgres" or "nobody" to run it as.',
  );
}

/**
 * Prepares a command to run as an account. It keeps root's right to pass through folders where setpriv is installed, because the
 * account may not enter those above a project, such as /root.
 */
export function launchAs(account: Account | null, command: string, args: string[]): Launch {
  if (account === null) return { command, args, options: {} };
  if (spawnSync('setpriv', ['--version']).status !== 0) return { command, args, options: account };
  const identity = [`--reuid=${account.uid}`, `--regid=${account.gid}`, '--clear-groups'];
  const rights = ['--inh-caps=+dac_override', '--ambient-caps=+dac_override'];
  return { command: 'setpriv', args: [...identity, ...rights, command, ...args], options: {} };
}

function lookUp(user: string): Account | null {
  try {
    const id = (flag: string) =>
      Number(execFileSync('id', [flag, user], { encoding: 'utf8', stdio: 'pipe' }));
    return { uid: id('-u'), gid: id('-g') };
  } catch {
    return null;
  }
}
