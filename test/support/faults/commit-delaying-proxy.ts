import net from 'node:net';

/** How long a cut-off request is under way: long enough for its sender to give up and clean up. */
const delayMs = 700;

/** The request to cut off: the commit of a transaction that moves a refund, or a statement that calls a function. */
type Cut = { what: 'commit' | 'create_refunds' | 'cancel_refund'; delayMs: number; thenGone: boolean };

/**
 * A proxy between a service and its PostgreSQL. On demand it breaks a connection during a commit and still delivers the
 * commit, at once or later, as a NAT or a connection pooler can.
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

  /** Breaks the next connection that commits a transaction with `move_refunds`; the commit arrives later. */
  cutNextCommit(): void {
    this.#armed = { what: 'commit', delayMs, thenGone: false };
  }

  /**
   * Breaks the next connection that calls the function.
   * @param arrives when the statement arrives; `at once` loses only its answer.
   * @param options.thenGone true to break all connections and refuse new ones until `comeBack`.
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

/** Parses the statements, also prepared ones, in a client's messages. */
class StatementReader {
  readonly #prepared = new Map<string, string>();
  #rest = Buffer.alloc(0);
  #isStarted = false;

  /** The texts of the statements that these bytes execute. */
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
