import net from 'node:net';

/** For how long what was cut off is under way; long enough for whoever sent it to give up and clean up. */
const delayMs = 700;

/** What is cut off next: the commit of a transaction that moves a refund, or the statement that calls a function. */
type Cut = { what: 'commit' | 'create_refunds' | 'cancel_refund'; delayMs: number; thenGone: boolean };

/**
 * Stands between a service and its PostgreSQL. On demand it breaks a connection in the moment of a commit, and lets the
 * commit arrive all the same, at once or later, as a network address translation or a pooler can.
 */
export class CommitDelayingProxy {
  readonly url: string;
  readonly #server: net.Server;
  #armed: Cut | null = null;
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

  /** Breaks the next connection that commits a transaction in which a refund moves; the commit arrives later. */
  cutNextCommit(): void {
    this.#armed = { what: 'commit', delayMs, thenGone: false };
  }

  /**
   * Breaks the next connection that sends a statement which calls this function.
   * @param arrives when the statement does; `at once` means that only its answer is lost.
   * @param options.thenGone true when all other connections break then, and none can be made until `comeBack` is called.
   */
  cutNextCall(
    what: 'create_refunds' | 'cancel_refund',
    arrives: 'at once' | 'later',
    { thenGone = false } = {},
  ): void {
    this.#armed = { what, delayMs: arrives === 'later' ? delayMs : 0, thenGone };
  }

  comeBack(): void {
    this.#isGone = false;
  }

  /** True until something was cut off. */
  get isArmed(): boolean {
    return this.#armed !== null;
  }

  /** Connections that were cut off and whose last statement PostgreSQL has not finished. */
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
    const statements = new StatementReader();
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
      for (const text of statements.read(request)) {
        if (text === 'BEGIN') movesRefund = false;
        if (text.includes('move_refunds(')) movesRefund = true;
        const isMove = movesRefund && text === 'COMMIT';
        isCut ||= armed?.what === 'commit' ? isMove : armed !== null && text.includes(`${armed.what}(`);
      }
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

/** Reads from what a client sends which statements it has executed, also prepared ones. */
class StatementReader {
  readonly #prepared = new Map<string, string>();
  #rest = Buffer.alloc(0);
  #isStarted = false;

  /** The texts of the statements that are executed in these bytes. */
  read(bytes: Buffer): string[] {
    this.#rest = Buffer.concat([this.#rest, bytes]);
    const executed: string[] = [];
    for (;;) {
      // The first message alone has no type.
      const typeLength = this.#isStarted ? 1 : 0;
      if (this.#rest.length < typeLength + 4) return executed;
      const length = typeLength + this.#rest.readUInt32BE(typeLength);
      if (this.#rest.length < length) return executed;
      const type = this.#isStarted ? this.#rest.toString('latin1', 0, 1) : '';
      const [first = '', second = ''] = this.#rest.toString('latin1', typeLength + 4, length).split('\0', 2);
      this.#rest = this.#rest.subarray(length);
      this.#isStarted = true;
      if (type === 'Q') executed.push(first);
      if (type === 'P') this.#prepared.set(first, second);
      if (type === 'B') executed.push(this.#prepared.get(second) ?? '');
    }
  }
}
