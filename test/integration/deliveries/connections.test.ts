import { createServer, type RequestListener } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { afterEach, expect, test, vi } from 'vitest';
import { openTransport, type Transport, type TransportOptions } from '#worker/deliver/transport.ts';
import { waitFor } from '../../support/wait-for.ts';

const undo: (() => Promise<void> | void)[] = [];
afterEach(async () => {
  vi.restoreAllMocks();
  for (const each of undo.splice(0)) await each();
});

function open(options: Partial<TransportOptions> = {}): Transport {
  const transport = openTransport({ isPublicOnly: false, ...options });
  undo.push(() => transport.close());
  return transport;
}

const accept: RequestListener = (_request, response) => response.writeHead(204).end();

/** A receiver that never closes a connection by itself. `used` has the connection of each request. */
async function listen(respond: RequestListener): Promise<{ port: number; used: Socket[] }> {
  const used: Socket[] = [];
  const server = createServer({ keepAliveTimeout: 0 }, (request, response) => {
    used.push(request.socket);
    request.resume().on('end', () => respond(request, response));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  undo.push(() => {
    server.closeAllConnections();
    server.close();
  });
  return { port: (server.address() as AddressInfo).port, used };
}

const post = (transport: Transport, host: string) => transport.post(`http://${host}/`, {}, Buffer.from('{}'));

test('requests to an endpoint share connections, which are replaced after half a minute', async () => {
  const { port, used } = await listen(accept);
  const transport = open();
  const sendTwenty = async () => {
    const before = used.length;
    for (let sent = 0; sent < 20; sent += 1) await post(transport, `127.0.0.1:${port}`);
    return new Set(used.slice(before));
  };
  const first = await sendTwenty();
  expect(first.size).toBeLessThan(10);
  const now = Date.now();
  vi.spyOn(Date, 'now').mockImplementation(() => now + 31_000);
  const second = await sendTwenty();
  expect([...second].filter((socket) => first.has(socket))).toEqual([]);
  expect(second.size).toBeLessThan(10);
});

test('the address of every new connection is checked', async () => {
  const { port, used } = await listen((_request, response) => {
    response.writeHead(204, { connection: 'close' }).end();
  });
  const answers = ['127.0.0.1', '127.0.0.2'];
  const transport = open({
    isAllowed: (ip) => ip === '127.0.0.1',
    resolve: async () => [{ address: answers.shift() ?? '', family: 4 }],
  });
  expect(await post(transport, `rebinding.example:${port}`)).toMatchObject({ status: 204 });
  expect(await post(transport, `rebinding.example:${port}`)).toMatchObject({ error: 'address_not_public' });
  expect([used.length, answers]).toEqual([1, []]);
});

test('a connection whose response was not read to the end is not used again', async () => {
  const { port, used } = await listen((_request, response) => {
    response.writeHead(200, { 'content-length': 1024 * 1024 }).write('x'.repeat(8 * 1024));
  });
  const transport = open();
  for (let sent = 0; sent < 4; sent += 1) {
    expect(await post(transport, `127.0.0.1:${port}`)).toMatchObject({ status: 200, error: null });
  }
  expect(new Set(used).size).toBe(4);
});

test('an idle connection is closed, and the next request makes another one', async () => {
  const { port, used } = await listen(accept);
  const transport = open();
  await post(transport, `127.0.0.1:${port}`);
  await waitFor('the connection to be closed', () => used[0]?.destroyed === true);
  expect(await post(transport, `127.0.0.1:${port}`)).toMatchObject({ status: 204 });
  expect(new Set(used).size).toBe(2);
});
