import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, expect, test } from 'vitest';
import { openTransport, type Transport, type TransportOptions } from '../../../worker/deliver/transport.ts';
import { waitFor } from '../../support/wait-for.ts';
import { responses, useReceivers } from '../../support/webhooks/receivers.ts';

const newReceiver = useReceivers();

const opened: Transport[] = [];
afterEach(async () => {
  await Promise.all(opened.splice(0).map((transport) => transport.close()));
});

function open(options: Partial<TransportOptions> = {}): Transport {
  const transport = openTransport({ isPublicOnly: false, ...options });
  opened.push(transport);
  return transport;
}

const post = (transport: Transport, url: string) => transport.post(url, {}, Buffer.from('{}'));

test.each([
  { requests: 5, connections: 1 },
  { requests: 110, connections: 2 },
])('$requests requests to an endpoint, one after the other, use $connections connections', async (count) => {
  const receiver = await newReceiver();
  const transport = open();
  for (let sent = 0; sent < count.requests; sent += 1) {
    expect(await post(transport, receiver.url)).toMatchObject({ status: 204 });
  }
  expect(receiver.connections).toBe(count.connections);
});

test('every new connection is made to an address that is checked again', async () => {
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

test('a connection whose response was not read to the end is not used again', async () => {
  const receiver = await newReceiver(responses.megabytes);
  const transport = open();
  for (let sent = 0; sent < 2; sent += 1) await post(transport, receiver.url);
  expect(receiver.connections).toBe(2);
});

test('an idle connection is closed, and the next request makes another one', async () => {
  let connections = 0;
  const server = createServer({ keepAliveTimeout: 0 }, (_request, response) => response.end());
  server.on('connection', (socket) => {
    connections += 1;
    socket.once('close', () => {
      connections -= 1;
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
  const transport = open();
  try {
    expect(await post(transport, url)).toMatchObject({ status: 200 });
    expect(connections).toBe(1);
    await waitFor('the connection to be closed', () => connections === 0);
    expect(await post(transport, url)).toMatchObject({ status: 200 });
  } finally {
    await transport.close();
    server.close();
  }
});
