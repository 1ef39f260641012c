import { execFileSync } from 'node:child_process';
import { chmodSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Redis } from 'ioredis';
import { freePort } from '../processes/free-port.ts';
import { createDatabase, query } from '../stores/database-client.ts';
import { type RunningPostgres, startPostgres } from '../stores/embedded-postgres.ts';
import { type RunningRedis, startRedis } from '../stores/redis.ts';
import { prepareForTests } from '../stores/service-role.ts';
import type { Breakable } from './service-process.ts';

/** A Redis for one test alone. It is empty after each start. */
export class OwnRedis implements Breakable {
  readonly url: string;
  readonly #port: number;
  #running: RunningRedis | null = null;

  private constructor(port: number) {
    this.#port = port;
    this.url = `redis://127.0.0.1:${port}`;
  }

  /** Picks an address without starting the server. */
  static async prepare(): Promise<OwnRedis> {
    return new OwnRedis(await freePort());
  }

  async start(): Promise<void> {
    this.#running = await startRedis({ port: this.#port });
  }

  async kill(): Promise<void> {
    await this.#running?.stop();
    this.#running = null;
  }

  /** Redis saves nothing here, so that a crash makes no difference. */
  async stop(): Promise<void> {
    await this.kill();
  }

  freeze(): void {
    this.#signal('SIGSTOP');
  }

  thaw(): void {
    this.#signal('SIGCONT');
  }

  #signal(signal: NodeJS.Signals): void {
    if (this.#running !== null) signalIfAlive(this.#running.pid, signal);
  }

  async flush(): Promise<void> {
    const client = new Redis(this.url);
    await client.flushall();
    client.disconnect();
  }
}

/** A PostgreSQL with one migrated database for one test alone. */
export class OwnPostgres implements Breakable {
  /** As the owner of the tables. */
  readonly url: string;
  readonly #folder: string;
  readonly #durable: boolean;
  readonly #port: number;
  #server: RunningPostgres | null;

  private constructor(folder: string, durable: boolean, server: RunningPostgres, url: string) {
    this.#folder = folder;
    this.#durable = durable;
    this.#server = server;
    this.#port = server.port;
    this.url = url;
  }

  /** @param durable true where it is killed: otherwise it would lose what was just committed. */
  static async open({ durable = false } = {}): Promise<OwnPostgres> {
    const folder = mkdtempSync(join(tmpdir(), 'refund-own-postgres-'));
    chmodSync(folder, 0o755);
    const server = await startPostgres({ dataDir: join(folder, 'data'), durable });
    const url = await createDatabase(server.url, 'refunds');
    await prepareForTests(url);
    return new OwnPostgres(folder, durable, server, url);
  }

  /** Where its data is. */
  get folder(): string {
    return this.#folder;
  }

  async stop(): Promise<void> {
    await this.#server?.stop();
    this.#server = null;
  }

  /** It has to recover from its log when it starts again. */
  async kill(): Promise<void> {
    const server = this.#server;
    if (server !== null) process.kill(server.pid, 'SIGQUIT');
    await server?.exited;
    this.#server = null;
  }

  async start(): Promise<void> {
    const dataDir = join(this.#folder, 'data');
    this.#server = await startPostgres({ dataDir, port: this.#port, durable: this.#durable });
  }

  /** Ends every connection of a client. */
  async disconnectAll(): Promise<void> {
    await query(
      this.url,
      "select pg_terminate_backend(pid) from pg_stat_activity where backend_type = 'client backend' and pid <> pg_backend_pid()",
    );
  }

  freeze(): void {
    this.#signalAll('SIGSTOP');
  }

  thaw(): void {
    this.#signalAll('SIGCONT');
  }

  async remove(): Promise<void> {
    await this.stop();
    rmSync(this.#folder, { recursive: true, force: true });
  }

  #signalAll(signal: NodeJS.Signals): void {
    const parent = this.#server?.pid;
    if (parent === undefined) throw new Error('PostgreSQL is not running.');
    const children = execFileSync('ps', ['-o', 'pid=', '--ppid', String(parent)], { encoding: 'utf8' });
    // A stopped parent forks no further children, and one that is continued last finds all of them running.
    const pids = [parent, ...children.trim().split(/\s+/).map(Number)];
    for (const pid of signal === 'SIGSTOP' ? pids : pids.toReversed()) signalIfAlive(pid, signal);
  }
}

/** The process of a connection may end at any moment. */
function signalIfAlive(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal);
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && error.code === 'ESRCH')) throw error;
  }
}
