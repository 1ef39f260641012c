import net from 'node:net';
import { madeBeforeTests } from '../made-before-tests.ts';
import { startService, type TestService } from '../service.ts';
import { postgresQueues } from '../stores/backends.ts';
import { useDatabase } from '../stores/database.ts';

/** How long a cut-off request is under way: long enough for its sender to give up and clean up. */
const delayMs = 700;

/** The request to cut off: a statement that calls a function, or the commit of a transaction that moves a refund. */
type Request = 'create_refunds(' | 'cancel_refund(' | 'COMMIT';

/**
 * A proxy between a service and its PostgreSQL. On demand it breaks a connection during a commit and still delivers the
 * commit, at once or later, as a NAT or a connection pooler can.
 */
export class CommitDelayingProxy {
  readonly url: string;
  readonly #server: net.Server;
  #armed: { what: Request; delayMs: number; thenGone: boolean } | null = null;
  #underWay = 0;
  #isGone = false;
  readonly #clients = new Set<net.Socket>();

  private constructor(server: net.Server, url: string) {
    this.#server = server;
    this.url = url;
  }

  static async open(databaseUrl: string): Promise<CommitDelayingProxy> {
    const target = new URL(databaseUrl);
    const server = net.createServer();
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const url = new URL(databaseUrl);
    url.port = String((server.address() as net.AddressInfo).port);
    const proxy = new CommitDelayingProxy(server, url.href);
    server.on('connection', (client) => proxy.#connect(client, target));
    return proxy;
  }

  /**
   * Breaks the next connection that sends such a request.
   * @param arrives when the request arrives; `at once` loses only its answer.
   * @param options.thenGone true to break all connections and refuse new ones until `comeBack`.
   */
  cutNext(what: Request, arrives: 'at once' | 'later', { thenGone = false } = {}): void {
    this.#armed = { what, delayMs: arrives === 'later' ? delayMs : 0, thenGone };
  }

  comeBack(): void {
    this.#isGone = false;
  }

  /** True until a request was cut off. */
  get isArmed(): boolean {
    return this.#armed !== null;
  }

  /** Cut-off connections whose last statement PostgreSQL has not finished. */
  get underWay(): number {
    return this.#underWay;
  }

  async close(): Promise<void> {
    await new Promise((resolve) => this.#server.close(resolve));
  }

  #breakAll(): void {
    this.#isGone = true;
    for (const client of this.#clients) client.destroy();
  }

  #connect(client: net.Socket, target: URL): void {
    if (this.#isGone) {
      client.destroy();
      return;
    }
    this.#clients.add(client);
    const database = net.connect(Number(target.port), target.hostname);
    let movesRefund = false;
    let isCut = false;
    for (const socket of [client, database]) socket.on('error', () => undefined);
    database.on('close', () => client.destroy());
    database.on('data', (answer) => {
      if (!isCut) client.write(answer);
    });
    client.on('close', () => {
      this.#clients.delete(client);
      if (!isCut) database.destroy();
    });
    client.on('data', (request) => {
      const armed = this.#armed;
      if (request.includes('BEGIN')) movesRefund = false;
      if (request.includes('move_refunds(')) movesRefund = true;
      isCut = armed !== null && request.includes(armed.what) && (armed.what !== 'COMMIT' || movesRefund);
      if (!isCut) {
        database.write(request);
        return;
      }
      this.#armed = null;
      this.#underWay += 1;
      client.destroy();
      if (armed?.thenGone) this.#breakAll();
      database.on('close', () => {
        this.#underWay -= 1;
      });
      setTimeout(() => database.end(request), armed?.delayMs);
    });
  }
}

/** Gives a test file a service without workers whose connections to PostgreSQL a proxy can cut during a commit. */
export function useDelayedCommits(): {
  service: TestService;
  proxy: CommitDelayingProxy;
  /** The database without the proxy. */
  databaseUrl: () => string;
} {
  const databaseUrl = useDatabase();
  const proxy = madeBeforeTests(
    'The proxy in front of PostgreSQL',
    () => CommitDelayingProxy.open(databaseUrl()),
    (opened) => opened.close(),
  );
  // Each request has the text of its statement.
  const settings = { DATABASE_PREPARED_STATEMENTS: false };
  const service = madeBeforeTests(
    'The service',
    () => startService({ databaseUrl: proxy.url, backend: postgresQueues, workers: 0, settings }),
    (started) => started.close(),
  );
  return { service, proxy, databaseUrl };
}
