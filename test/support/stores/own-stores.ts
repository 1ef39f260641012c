import { execFileSync } from 'node:child_process';
import { chmodSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Redis } from 'ioredis';
import { migrate } from '../../../prisma/migrate.ts';
import { freePort } from '../processes/free-port.ts';
import type { ApiAnswer, TestService } from '../service.ts';
import { waitFor } from '../wait-for.ts';
import { createDatabase } from './create-database.ts';
import { query } from './database-client.ts';
import { type RunningPostgres, startPostgres } from './embedded-postgres.ts';
import { type RunningRedis, startRedis } from './redis.ts';

// Servers that a test may stop, freeze and empty, because nobody else works with them.

/** A Redis that keeps its address while it comes and goes. */
export class OwnRedis {
  readonly url: string;
  readonly #port: number;
  #running: RunningRedis | null = null;

  private constructor(port: number) {
    this.#port = port;
    this.url = `redis://127.0.0.1:${port}`;
  }

  /** Picks an address; the server is not started yet. */
  static async prepare(): Promise<OwnRedis> {
    return new OwnRedis(await freePort());
  }

  async start(): Promise<void> {
    this.#running = await startRedis({ port: this.#port });
  }

  /** Ends it without notice; it comes back empty. */
  async stop(): Promise<void> {
    await this.#running?.stop();
    this.#running = null;
  }

  freeze(): void {
    this.#running?.process.kill('SIGSTOP');
  }

  thaw(): void {
    this.#running?.process.kill('SIGCONT');
  }

  async flush(): Promise<void> {
    const client = new Redis(this.url);
    await client.flushall();
    client.disconnect();
  }
}

/** A PostgreSQL with one migrated database that keeps its address and its data while it comes and goes. */
export class OwnPostgres {
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

  /** @param durable true where it is to be ended without notice: else it would forget what it had just committed. */
  static async start({ durable = false } = {}): Promise<OwnPostgres> {
    const folder = mkdtempSync(join(tmpdir(), 'refund-own-postgres-'));
    chmodSync(folder, 0o755);
    const server = await startPostgres({ dataDir: join(folder, 'data'), durable });
    const url = await createDatabase(server.url, 'refunds');
    await migrate(url);
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

  /** Ends it without notice, as a power cut does: it has to recover from its log when it starts again. */
  async stopImmediately(): Promise<void> {
    const server = this.#server;
    if (server !== null) process.kill(server.pid, 'SIGQUIT');
    await server?.exited;
    this.#server = null;
  }

  async startAgain(): Promise<void> {
    const dataDir = join(this.#folder, 'data');
    this.#server = await startPostgres({ dataDir, port: this.#port, durable: this.#durable });
  }

  /** Ends every connection, as an administrator can. */
  async disconnectAll(): Promise<void> {
    await query(
      this.url,
      "select pg_terminate_backend(pid) from pg_stat_activity where backend_type = 'client backend' and pid <> pg_backend_pid()",
    );
  }

  /** Every process of it stops where it is: connections stay open and nothing is answered. */
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
    if (parent === undefined) throw new Error('The server does not run.');
    const children = execFileSync('ps', ['-o', 'pid=', '--ppid', String(parent)], { encoding: 'utf8' });
    // The parent first: stopped, it makes no further children; continued last, it finds all of them alive.
    const pids = [parent, ...children.trim().split(/\s+/).map(Number)];
    for (const pid of signal === 'SIGSTOP' ? pids : pids.toReversed()) signalIfAlive(pid, signal);
  }
}

/** A connection's process may end at any moment, also between being listed and being signalled. */
function signalIfAlive(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal);
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && error.code === 'ESRCH')) throw error;
  }
}

/** An answer, and how long it took. */
export async function timed(answer: Promise<ApiAnswer>): Promise<ApiAnswer & { ms: number }> {
  const since = performance.now();
  const { status, body, headers } = await answer;
  return { status, body, headers, ms: Math.round(performance.now() - since) };
}

/** A new payment of 100.00 USD at the processor. */
export async function payment({ sandbox }: TestService, processor: string): Promise<string> {
  return await sandbox.transaction({ processor, amount: 10_000, currency: 'usd' });
}

/** Asks for a tenth of a payment back. */
export async function create(
  service: TestService,
  transactionId: string,
  headers: Record<string, string> = {},
): Promise<ApiAnswer & { ms: number }> {
  const processor = transactionId.startsWith('ch_') ? 'stripe' : 'braintree';
  const body = { transactionId, amount: 1_000, reason: 'other', processor };
  return await timed(service.call('POST', '/v1/refunds', { body, headers }));
}

/** Waits until every refund on record has completed, cancelled ones aside; answers how many there are. */
export async function allComplete({ deps }: TestService): Promise<number> {
  await waitFor(
    'every refund to complete',
    async () =>
      (await deps.db.refund.count({ where: { status: { notIn: ['completed', 'cancelled'] } } })) === 0,
    { intervalMs: 100 },
  );
  return await deps.db.refund.count();
}
