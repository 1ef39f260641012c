import { once } from 'node:events';
import { type AddressInfo, connect } from 'node:net';
import { text } from 'node:stream/consumers';
import { expect, test } from 'vitest';
import { createBoundedServer } from '#api/http/pipelining.ts';

test('a server that closes answers the first request of a connection that was just made, and waits for no other connection', async () => {
  const server = createBoundedServer((_request, response) => response.end('served'), {
    keepAliveTimeoutMs: 72_000,
    idleTimeoutMs: 0,
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const open = async () => {
    const socket = connect((server.address() as AddressInfo).port, '127.0.0.1');
    await Promise.all([once(socket, 'connect'), once(server, 'connection')]);
    return socket;
  };
  const [justMade] = [await open(), await open()];
  const closed = once(server, 'close');
  server.close();
  justMade.write('GET / HTTP/1.1\r\nHost: service\r\nConnection: close\r\n\r\n');
  expect(await text(justMade)).toContain('served');
  await closed;
});
