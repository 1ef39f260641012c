import { createServer } from 'node:http';
import { type AddressInfo, connect, type Socket } from 'node:net';
import { afterEach } from 'vitest';
import type { ProxySettings } from '#shared/platform/outgoing/proxy.ts';

export const noProxies: ProxySettings = { HTTPS_PROXY: null, HTTP_PROXY: null, NO_PROXY: '' };

/** A request for a connection, as the proxy saw it. */
interface Connect {
  /** Host and port. */
  authority: string;
  authorization: string | undefined;
}

/** An HTTP proxy that opens connections, and does nothing else. */
export interface TestProxy {
  url: string;
  connects: Connect[];
  /** Requests other than CONNECT, which it refuses. */
  others: number;
  /** The ports of this machine that stand for hosts: `{ 'api.stripe.com:443': 40001 }`. */
  stands: Record<string, number>;
  /** What it does with a request: by default it opens the connection. May be replaced at any time. */
  respond(client: Socket, open: () => void): void;
  close(): Promise<void>;
}

/** What a proxy does. */
export const proxyResponses = {
  refuse: (status: number) => (client: Socket) =>
    client.end(`HTTP/1.1 ${status} Refused\r\n\r\nIts own page.`),
  hang: () => {},
  reset: (client: Socket) => client.resetAndDestroy(),
  nonsense: (client: Socket) => client.end('This is not HTTP.\r\n\r\n'),
  /** Opens nothing, and breaks what it claims to have opened. */
  resetOnceOpen: (client: Socket) => {
    client.write('HTTP/1.1 200 Connection established\r\n\r\n');
    client.once('data', () => client.resetAndDestroy());
  },
} as const;

export async function startProxy(port = 0): Promise<TestProxy> {
  const server = createServer((_request, response) => {
    proxy.others += 1;
    response.writeHead(405).end();
  });
  const clients = new Set<Socket>();
  server.on('connection', (client) => {
    clients.add(client);
    client.on('error', () => {}).on('close', () => clients.delete(client));
  });
  server.on('connect', ({ url: authority = '', headers }, client: Socket) => {
    proxy.connects.push({ authority, authorization: headers['proxy-authorization'] });
    proxy.respond(client, () => {
      const [, host = '', named] = /^(.+):(\d+)$/.exec(authority) ?? [];
      const stand = proxy.stands[authority];
      const target = connect(stand ?? Number(named), stand === undefined ? host : '127.0.0.1', () => {
        client.write('HTTP/1.1 200 Connection established\r\n\r\n');
        client.pipe(target).pipe(client);
      });
      target.on('error', () => client.destroy());
      client.on('close', () => target.destroy());
    });
  });
  await new Promise<void>((resolve) => server.listen(port, '127.0.0.1', resolve));
  const proxy: TestProxy = {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    ...{ connects: [], others: 0, stands: {} },
    respond: (_client, open) => open(),
    async close() {
      const closed = new Promise<void>((resolve) => server.close(() => resolve()));
      for (const client of clients) client.destroy();
      await closed;
    },
  };
  return proxy;
}

/** Gives a test file proxies that are closed after the test that started them. */
export function useProxies(): () => Promise<TestProxy> {
  const started: TestProxy[] = [];
  afterEach(async () => {
    await Promise.all(started.splice(0).map((proxy) => proxy.close()));
  });
  return async () => {
    const proxy = await startProxy();
    started.push(proxy);
    return proxy;
  };
}
