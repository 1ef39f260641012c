import { once } from 'node:events';
import { type AddressInfo, connect, type Socket } from 'node:net';
import Fastify from 'fastify';
import { expect, onTestFinished, test } from 'vitest';
import { admit, openPlaces, startWaiting } from '#api/http/admission.ts';
import { createBoundedServer } from '#api/http/pipelining.ts';
import { waitFor } from '../support/wait-for.ts';

/** More than the system keeps for a connection. */
const large = 'x'.repeat(32 * 1024 * 1024);

/** A server for large responses, with places for two. */
async function serveLarge(idleTimeoutMs: number) {
  const app = Fastify({
    serverFactory: (handle) => createBoundedServer(handle, { keepAliveTimeoutMs: 72_000, idleTimeoutMs }),
    forceCloseConnections: true,
  });
  onTestFinished(() => app.close());
  const clients = openPlaces(2, 2);
  const { working: work } = clients;
  let owner = 0;
  admit(app as never, () => ({ places: clients, owner: String(++owner) }));
  let sent = 0;
  app.addHook('onSend', async () => {
    sent += 1;
  });
  app.get('/', async () => large);
  app.get('/has-waited', async (request) => (startWaiting(request) ? large : ''));
  app.get('/waits', () => new Promise(() => undefined));
  await app.listen({ host: '127.0.0.1', port: 0 });
  const ask = (...paths: string[]): Socket => {
    const socket = connect((app.server.address() as AddressInfo).port, '127.0.0.1');
    socket.pause().on('error', () => undefined);
    for (const path of paths) socket.write(`GET ${path} HTTP/1.1\r\nHost: service\r\n\r\n`);
    return socket;
  };
  return { app, work, waiting: clients.waiting, ask, sent: () => sent };
}

test('a response holds the place of its request until the client has read it or is gone', async () => {
  const { work, ask, sent } = await serveLarge(0);
  const [reads, leaves] = [ask('/'), ask('/')];
  await waitFor('both to be served', () => sent() === 2);
  expect(work.isFull).toBe(true);
  leaves.destroy();
  await waitFor('the place of the client that left', () => !work.isFull);
  work.enter('another');
  expect(work.isFull).toBe(true);
  reads.resume();
  await waitFor('the place of the client that read', () => !work.isFull);
});

test('a response after a wait holds a place for work until the client has read it', async () => {
  const { work, waiting, ask, sent } = await serveLarge(0);
  ask('/has-waited');
  const reads = ask('/has-waited');
  await waitFor('both to be served', () => sent() === 2);
  expect([work.isFull, waiting.admits('3')]).toEqual([true, true]);
  reads.resume();
  await waitFor('the place of the client that read', () => !work.isFull);
});

test('a response that waits behind another one gives its place back when the client is gone', async () => {
  const { work, ask, sent } = await serveLarge(0);
  const leaves = ask('/waits', '/');
  await waitFor('the second to be served', () => sent() === 1);
  expect(work.isFull).toBe(true);
  leaves.destroy();
  await waitFor('its place', () => !work.isFull);
});

test('a client that does not read its response loses its connection', async () => {
  const { app, ask } = await serveLarge(200);
  const closed = once(app.server, 'connection').then(([socket]) => once(socket, 'close'));
  ask('/');
  await closed;
});
