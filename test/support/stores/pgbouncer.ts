import { spawnSync } from 'node:child_process';
import { chmodSync, mkdtempSync, readFileSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startProgram } from '../processes/child-process.ts';
import { freePort } from '../processes/free-port.ts';
import { accountFor, launchAs } from './server-account.ts';

/** PgBouncer in front of one database. */
export interface RunningPgBouncer {
  /** Of the database, behind it. */
  url: string;
  stop(): Promise<unknown>;
}

const page = readFileSync('docs/operations/deployment.md', 'utf8');

/** What docs/operations/deployment.md sets for the role of the service. @param role its name here. */
export function documentedRoleSettings(role: string): string {
  return [...page.matchAll(/^ALTER ROLE refunds_service SET .*;$/gm)]
    .map(([statement]) => statement.replace('refunds_service', role))
    .join('\n');
}

/** True when `pgbouncer` is on PATH. */
export function isPgBouncerPresent(): boolean {
  return spawnSync('pgbouncer', ['--version']).status === 0;
}

/**
 * Starts PgBouncer with what docs/operations/deployment.md sets. It ends with this process at the latest.
 * @param databaseUrl with the user and the password for all connections to PostgreSQL.
 */
export async function startPgBouncer(
  databaseUrl: string,
  mode: 'session' | 'transaction',
): Promise<RunningPgBouncer> {
  const { hostname, port, pathname, username, password } = new URL(databaseUrl);
  const folder = mkdtempSync(join(tmpdir(), 'refund-pgbouncer-'));
  chmodSync(folder, 0o755);
  const own = await freePort();
  const file = join(folder, 'pgbouncer.ini');
  const lines = [
    '[databases]',
    `refunds = host=${hostname} port=${port} dbname=${pathname.slice(1)} user=${username} password=${password}`,
    '[pgbouncer]',
    ...[`pool_mode = ${mode}`, /^ignore_startup_parameters = .*$/m.exec(page)?.[0] ?? ''],
    ...['listen_addr = 127.0.0.1', `listen_port = ${own}`, 'unix_socket_dir =', 'auth_type = any'],
    ...['max_client_conn = 500', 'default_pool_size = 80'],
  ];
  writeFileSync(file, lines.join('\n'));
  const { command, args, options } = launchAs(accountFor(file), 'pgbouncer', [file]);
  const server = startProgram('pgbouncer', command, args, {
    ...options,
    ...{ isDetached: true, reaperSignal: 'INT', folder },
  });
  await server.waitForOutput(/process up/);
  return { url: `postgresql://${username}@127.0.0.1:${own}/refunds`, stop: () => server.stop() };
}
