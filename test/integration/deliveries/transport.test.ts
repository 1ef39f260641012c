import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import dns from 'node:dns/promises';
import { createServer, type Server } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import type { AddressInfo, Socket } from 'node:net';
import { afterEach, beforeAll, describe, expect, test, vi } from 'vitest';
import { openTransport, type Transport, type TransportOptions } from '#worker/deliver/transport.ts';
import { privateHosts } from '../../support/http/private-hosts.ts';
import { noProxies, proxyResponses, useProxies } from '../../support/http/proxy-server.ts';
import { startTlsFront } from '../../support/http/tls-front.ts';
import { freePort } from '../../support/processes/free-port.ts';
import { waitFor } from '../../support/wait-for.ts';
import { responses, useReceivers } from '../../support/webhooks/receivers.ts';

const newReceiver = useReceivers();

const opened: Transport[] = [];
afterEach(async () => {
  vi.restoreAllMocks();
  await Promise.all(opened.splice(0).map((transport) => transport.close()));
});

function open(options: Partial<TransportOptions> = {}): Transport {
  const transport = openTransport({ isPublicOnly: false, proxies: noProxies, ...options });
  opened.push(transport);
  return transport;
}

const body = Buffer.from('{"a":"ä"}');
const post = async (transport: Transport, url: string) => {
  const reply = await transport.post(url, { 'content-type': 'application/json' }, body);
  return { ...reply, body: reply.body.toString() };
};

/** Waits until the transport has read the headers of the next response. */
async function untilHeaders(): Promise<void> {
  await new Promise<void>((resolve) => {
    const read = () => {
      unsubscribe('undici:request:headers', read);
      setImmediate(resolve);
    };
    subscribe('undici:request:headers', read);
  });
}

describe('outside of production', () => {
  test('sends the exact bytes to a local receiver and returns its response', async () => {
    const receiver = await newReceiver((response) =>
      response.writeHead(201, { 'retry-after': '7' }).end('thanks'),
    );
    const reply = { status: 201, body: 'thanks', retryAfter: '7', error: null };
    expect(await post(open(), receiver.url)).toEqual(reply);
    expect(receiver.received).toMatchObject([{ body: body.toString(), headers: { 'content-length': '10' } }]);
  });

  test.each([
    ['does not answer', responses.hang, null, 'timeout'],
    ['answers with headers alone', responses.hangAfterHeaders, 200, 'timeout'],
    ['trickles', responses.trickle, 200, 'timeout'],
    ['resets the connection in the middle of the body', responses.resetInBody, 200, 'connection_closed'],
    ['does not speak HTTP', responses.malformed, null, 'invalid_response'],
    ['redirects', responses.redirect, 302, null],
  ] as const)('reports a receiver that %s', async (_what, respond, status, error) => {
    const receiver = await newReceiver(respond);
    const [time, headers] = [new AbortController(), untilHeaders()];
    const limit = vi.spyOn(AbortSignal, 'timeout').mockReturnValue(time.signal);
    const reply = post(open(), receiver.url);
    await waitFor('the request', () => receiver.received.length === 1);
    if (error === 'timeout') {
      if (status !== null) await headers;
      time.abort();
    }
    expect(await reply).toMatchObject({ status, error });
    expect(limit.mock.calls).toEqual([[15_000]]);
    expect(receiver.received).toHaveLength(1);
  });

  test('ignores interim responses, whatever their number and pieces', async () => {
    const receiver = await newReceiver((response) => {
      response.writeContinue();
      response.writeEarlyHints({ link: '</style.css>; rel=preload' });
      response.writeProcessing();
      response.writeHead(200).end('HTTP/1.1 100 Continue');
    });
    const transport = open();
    const accepted = { status: 200, body: 'HTTP/1.1 100 Continue', error: null };
    // The second one uses the connection of the first.
    for (let count = 0; count < 2; count += 1) {
      expect(await post(transport, receiver.url)).toMatchObject(accepted);
    }
    const pieces = await newReceiver(async ({ socket }) => {
      const text =
        'HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 100 Continue\r\nx: y\r\n\r\nHTTP/1.1 204 No Content\r\n\r\n';
      socket?.setNoDelay(true);
      for (const byte of text) {
        socket?.write(byte);
        await new Promise((resolve) => setImmediate(resolve));
      }
    });
    expect(await post(transport, pieces.url)).toMatchObject({ status: 204, error: null });
  });

  test('reads the first kilobytes of a response that does not end, and succeeds', async () => {
    const receiver = await newReceiver(responses.megabytes);
    const reply = await post(open(), receiver.url);
    expect(reply).toMatchObject({ status: 200, error: null });
    expect(reply.body).toMatch(/^x+$/);
    expect(reply.body.length).toBe(4 * 1024);
  });

  test('reports a port where nothing listens', async () => {
    const url = `http://127.0.0.1:${await freePort()}/`;
    expect(await post(open(), url)).toMatchObject({ status: null, error: 'connection_failed' });
  });

  test.each([
    ['cannot be resolved', async () => Promise.reject(new Error('ENOTFOUND'))],
    ['has no address', async () => []],
  ])('reports a host that %s', async (_what, resolve) => {
    const reply = await post(open({ resolve }), 'http://receiver.example/');
    expect(reply).toMatchObject({ status: null, error: 'dns_failed' });
  });

  test('ends a lookup that does not end', async () => {
    const resolve = () => new Promise<never>(() => {});
    const reply = await post(open({ resolve, timeoutMs: 200 }), 'http://receiver.example/');
    expect(reply).toMatchObject({ status: null, error: 'timeout' });
  });

  test('reports a receiver whose certificate is not valid', async () => {
    const { server, port } = await listen(createTlsServer());
    expect(await post(open(), `https://127.0.0.1:${port}/`)).toMatchObject({
      status: null,
      error: 'tls_failed',
    });
    server.close();
  });

  test('shares the connections of an endpoint, which are replaced after half a minute', async () => {
    const receiver = await newReceiver();
    const transport = open();
    const connectionsForTwenty = async () => {
      const before = receiver.connections;
      for (let sent = 0; sent < 20; sent += 1) await post(transport, receiver.url);
      return receiver.connections - before;
    };
    expect(await connectionsForTwenty()).toBeLessThan(10);
    const now = Date.now();
    vi.spyOn(Date, 'now').mockImplementation(() => now + 31_000);
    const replaced = await connectionsForTwenty();
    expect(replaced).toBeGreaterThan(0);
    expect(replaced).toBeLessThan(10);
  });

  test('closes a connection that is idle', async () => {
    const sockets: Socket[] = [];
    const { server, port } = await listen(
      createServer({ keepAliveTimeout: 0 }, (request, response) => {
        sockets.push(request.socket);
        response.writeHead(204).end();
      }),
    );
    await post(open(), `http://127.0.0.1:${port}/`);
    await waitFor('the connection to be closed', () => sockets[0]?.destroyed === true);
    server.close();
  });

  test('does not use a connection again whose response was not read to the end', async () => {
    const receiver = await newReceiver((response) =>
      response.writeHead(200, { 'content-length': 1024 * 1024 }).write('x'.repeat(8 * 1024)),
    );
    const transport = open();
    for (let sent = 0; sent < 4; sent += 1) {
      expect(await post(transport, receiver.url)).toMatchObject({ status: 200, error: null });
    }
    expect(receiver.connections).toBeGreaterThanOrEqual(4);
  });

  test('checks the address of every new connection', async () => {
    const receiver = await newReceiver((response) => response.writeHead(204, { connection: 'close' }).end());
    const answers = ['127.0.0.1', '127.0.0.2'];
    const transport = open({
      isAllowed: (ip) => ip === '127.0.0.1',
      resolve: async () => [{ address: answers.shift() ?? '', family: 4 }],
    });
    const url = `http://rebinding.example:${receiver.port}/`;
    expect(await post(transport, url)).toMatchObject({ status: 204 });
    expect(await post(transport, url)).toMatchObject({ error: 'address_not_public' });
    expect([receiver.received.length, answers]).toEqual([1, []]);
  });
});

async function listen(server: Server): Promise<{ server: Server; port: number }> {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return { server, port: (server.address() as AddressInfo).port };
}

describe('in production', () => {
  let server: Server;
  let port: number;
  let hits = 0;
  beforeAll(async () => {
    ({ server, port } = await listen(createServer()));
    server.on('connection', (socket) => {
      hits += 1;
      socket.destroy();
    });
    return () => server.close();
  });

  /** Every name leads to this machine, as the owner of a domain can make it do. */
  const resolveHere = async () => [{ address: '127.0.0.1', family: 4 }];

  // Other characters than an endpoint's URL may have, and names that lead here.
  const others = [
    '１２７.0.0.1',
    '127。0。0。1',
    'here.example',
    'metadata.google.internal',
    '127.0.0.1.nip.io',
  ];

  test.each([...privateHosts, ...others])(
    'sends nothing to https://%s, which is not public',
    async (host) => {
      const reply = await post(
        open({ isPublicOnly: true, resolve: resolveHere }),
        `https://${host}:${port}/`,
      );
      expect(reply).toEqual({ status: null, body: '', retryAfter: null, error: 'address_not_public' });
      expect(hits).toBe(0);
    },
  );

  test('refuses http for every host', async () => {
    const transport = open({ isPublicOnly: true, resolve: resolveHere });
    for (const host of ['127.0.0.1', '192.0.2.1', 'here.example']) {
      expect(await post(transport, `http://${host}:${port}/`)).toMatchObject({ error: 'https_required' });
    }
    expect(hits).toBe(0);
  });

  test('refuses a name with a private address among public ones', async () => {
    const resolve = async () => [
      { address: '192.0.2.1', family: 4 },
      { address: '127.0.0.1', family: 4 },
    ];
    const reply = await post(open({ isPublicOnly: true, resolve }), `https://mixed.example:${port}/`);
    expect(reply).toMatchObject({ error: 'address_not_public' });
    expect(hits).toBe(0);
  });

  test('asks name servers for the addresses', async () => {
    const asked = vi.spyOn(dns, 'resolve4').mockResolvedValue(['127.0.0.3']);
    vi.spyOn(dns, 'resolve6').mockRejectedValue(new Error('ENOTFOUND'));
    const reply = await post(open({ isPublicOnly: true }), `https://asked.example:${port}/`);
    expect(reply).toMatchObject({ error: 'address_not_public' });
    expect([asked.mock.calls, hits]).toEqual([[['asked.example']], 0]);
  });
});

describe('behind a proxy', () => {
  const newProxy = useProxies();
  const host = 'hooks.example.com';
  /** An address of the documentation of IPv6 would not count as public. */
  const resolvePublicly = async () => [{ address: '1.1.1.1', family: 4 }];

  async function stage(options: Partial<TransportOptions> = {}) {
    const proxy = await newProxy();
    const proxies = { HTTPS_PROXY: proxy.url, HTTP_PROXY: proxy.url, NO_PROXY: '' };
    return { proxy, proxies, transport: open({ proxies, resolve: resolvePublicly, ...options }) };
  }

  test.each([false, true])('has it connect to the host by name, in production: %s', async (isPublicOnly) => {
    const receiver = await newReceiver();
    const front = await startTlsFront(receiver.port);
    const { proxy, transport } = await stage({ isPublicOnly });
    proxy.stands = { [`${host}:443`]: front.port };
    expect(await post(transport, `https://${host}/hook`)).toMatchObject({ status: 204, error: null });
    expect(proxy.connects).toEqual([{ authority: `${host}:443`, authorization: undefined }]);
    expect(front.names).toEqual([host]);
    expect(receiver.received).toMatchObject([{ headers: { host }, body: body.toString() }]);
  });

  test('verifies the certificate of the receiver', async () => {
    const receiver = await newReceiver();
    const trusted = await startTlsFront(receiver.port);
    const { proxy, transport } = await stage();
    proxy.stands = { [`${host}:443`]: trusted.port, 'other.example:443': trusted.port };
    expect(await post(transport, 'https://other.example/')).toMatchObject({ error: 'tls_failed' });
    vi.restoreAllMocks();
    expect(await post(transport, `https://${host}/`)).toMatchObject({ error: 'tls_failed' });
    expect(receiver.received).toEqual([]);
  });

  test('sends to http: through a connection as well', async () => {
    const receiver = await newReceiver();
    const { proxy, transport } = await stage();
    expect(await post(transport, receiver.url)).toMatchObject({ status: 204 });
    expect(proxy.connects).toMatchObject([{ authority: `127.0.0.1:${receiver.port}` }]);
    expect(proxy.others).toBe(0);
  });

  test('refuses what is not public before the proxy is asked', async () => {
    const { proxy, proxies } = await stage();
    const transport = open({
      isPublicOnly: true,
      proxies,
      resolve: async () => [{ address: '10.0.0.1', family: 4 }],
    });
    for (const name of [host, '127.0.0.1', '[::1]', 'localhost', '169.254.169.254', '0x7f.1']) {
      expect(await post(transport, `https://${name}/`)).toMatchObject({ error: 'address_not_public' });
    }
    const silent = open({ isPublicOnly: true, proxies, resolve: async () => [] });
    expect(await post(silent, `https://${host}/`)).toMatchObject({ error: 'dns_failed' });
    expect(proxy.connects).toEqual([]);
  });

  test('connects directly to what is excepted, and checks it', async () => {
    const receiver = await newReceiver();
    const { proxy, proxies } = await stage();
    const excepting = { ...proxies, NO_PROXY: `127.0.0.1:${receiver.port},${host}` };
    expect(await post(open({ proxies: excepting }), receiver.url)).toMatchObject({ status: 204 });
    const resolve = async () => [{ address: '127.0.0.1', family: 4 }];
    const transport = open({ isPublicOnly: true, proxies: excepting, resolve });
    expect(await post(transport, `https://${host}:${receiver.port}/`)).toMatchObject({
      error: 'address_not_public',
    });
    expect([proxy.connects.length, receiver.received.length]).toEqual([0, 1]);
  });

  test.each([
    ['refuses', proxyResponses.refuse(403)],
    ['breaks the connection', proxyResponses.reset],
    ['does not speak HTTP', proxyResponses.nonsense],
  ])('reports a proxy that %s as a failed connection', async (_what, respond) => {
    const { proxy, transport } = await stage();
    proxy.respond = respond;
    const failed = { status: null, body: '', retryAfter: null, error: 'connection_failed' };
    expect(await post(transport, `https://${host}/`)).toEqual(failed);
  });
});
