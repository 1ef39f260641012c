import net from 'node:net';

/** For how long the commit is under way; long enough for whoever asked for it to give up and clean up. */
const delayMs = 700;

/**
 * Stands between a service and its PostgreSQL. On demand it breaks the connection of a transaction that writes to a
 * timeline in the moment of its commit, and lets the commit arrive later, as a network address translation or a pooler can.
 */
export class CommitDelayingProxy {
  readonly url: string;
  readonly #server: net.Server;
  #isArmed = false;

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

  /** Breaks the next connection that commits an entry of a timeline. */
  cutNextCommit(): void {
    this.#isArmed = true;
  }

  async close(): Promise<void> {
    await new Promise((resolve) => this.#server.close(resolve));
  }

  #connect(client: net.Socket, target: URL): void {
    const database = net.connect(Number(target.port), target.hostname);
    let hasEvent = false;
    let isCut = false;
    for (const socket of [client, database]) socket.on('error', () => undefined);
    database.on('close', () => client.destroy());
    database.on('data', (answer) => {
      if (!isCut) client.write(answer);
    });
    client.on('close', () => {
      if (!isCut) database.destroy();
    });
    client.on('data', (request) => {
      const text = request.toString('latin1');
      if (text.includes('BEGIN')) hasEvent = false;
      if (text.includes('INSERT INTO refund_event')) hasEvent = true;
      isCut = this.#isArmed && hasEvent && text.includes('COMMIT');
      if (!isCut) {
        database.write(request);
        return;
      }
      this.#isArmed = false;
      client.destroy();
      setTimeout(() => database.end(request), delayMs);
    });
  }
}
