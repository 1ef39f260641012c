import { subscribe } from 'node:diagnostics_channel';
import { once } from 'node:events';
import net from 'node:net';
import type { FastifyInstance } from 'fastify';
import { expect, test } from 'vitest';
import { openLog } from '#shared/platform/log.ts';
import { signInMember } from '#test/support/dashboard/dashboard-member.ts';
import { useExposedService } from '#test/support/http/exposed-service.ts';
import { rawRequest } from '#test/support/http/raw-http.ts';
import { waitFor } from '#test/support/wait-for.ts';

const logged: Record<string, unknown>[] = [];
const log = openLog('info', 'test', { write: (line) => logged.push(JSON.parse(line)) });
/** The status of every answer, also of those that no client receives. */
const answered: number[] = [];
/** The requests of which the body is read. */
let reading = 0;
subscribe('fastify.initialization', (announced) => {
  const { fastify } = announced as { fastify: FastifyInstance };
  fastify.addHook('preParsing', async () => {
    reading += 1;
  });
  fastify.addHook('onSend', async (_request, { statusCode }, payload) => {
    answered.push(statusCode);
    return payload;
  });
});
const exposed = useExposedService({}, { log });

const length = 'Content-Length: 500';
const json = 'Content-Type: application/json';

/** The start of an upload, by the kind of body that is announced. */
async function starts(): Promise<Record<string, Buffer>> {
  const { service, head } = exposed;
  const { visitor } = await signInMember(service, 'owner');
  const where = { processor: 'braintree' };
  const { id } = await service.deps.db.processorAccount.findFirstOrThrow({ where });
  const form = ['Content-Type: application/x-www-form-urlencoded', length];
  return {
    'a creation': rawRequest(head('POST /v1/refunds', json, length), '{"transactionId":'),
    'a cancellation': rawRequest(head('POST /v1/refunds/ref_1/cancel', json, length), '{'),
    'a message for agents': rawRequest(head('POST /mcp', json, length), '{'),
    'a webhook of Braintree': rawRequest(head(`POST /webhooks/braintree/${id}`, ...form), 'bt_signature='),
    'a form': rawRequest(
      head('POST /dashboard/sign-out', ...form, `Cookie: ${visitor.cookie}`, 'Sec-Fetch-Site: same-origin'),
      '_csrf=',
    ),
    'an unknown address': rawRequest(head('POST /nothing', json, length), '{'),
  };
}

const faults = () => logged.filter(({ level }) => Number(level) >= 50);

/** Sends the start of a request, waits until it has arrived, and ends the connection in one of several ways. */
async function interrupt(
  bytes: Buffer,
  end: (client: net.Socket, server: net.Socket) => void,
): Promise<void> {
  const { app } = exposed.service;
  const count = reading + answered.length;
  const connection = once(app.server, 'connection');
  const client = net.connect(exposed.port, '127.0.0.1');
  client.on('error', () => undefined).resume();
  const [server] = (await connection) as [net.Socket];
  const closed = new Promise((resolve) => {
    server.once('close', resolve);
  });
  client.write(bytes);
  await waitFor('the body to be read', () => reading + answered.length > count);
  await new Promise(setImmediate);
  end(client, server);
  await closed;
  client.destroy();
}

test.each([
  ['closes the connection', (client: net.Socket) => client.destroy()],
  ['ends its side of the connection', (client: net.Socket) => client.end()],
  [
    'sends nothing more until the time for a request is over',
    (_client: net.Socket, server: net.Socket) => {
      // Node reports a request that has taken longer than `requestTimeout` in this way.
      const error = Object.assign(new Error('Request timeout'), { code: 'ERR_HTTP_REQUEST_TIMEOUT' });
      exposed.service.app.server.emit('clientError', error, server);
    },
  ],
])('a client that %s within a body is no fault of the service', async (_what, end) => {
  const before = await exposed.rowCounts();
  for (const [what, bytes] of Object.entries(await starts())) {
    const count = answered.length;
    await interrupt(bytes, end);
    expect(await waitFor(`the end of ${what}`, () => answered[count]), what).toBeLessThan(500);
  }
  expect(faults()).toEqual([]);
  expect(await exposed.rowCounts()).toEqual(before);
});

test('the wait for the rest of a request is bounded', () => {
  const { requestTimeout, headersTimeout } = exposed.service.app.server;
  expect(requestTimeout).toBe(exposed.service.settings.MAX_WAIT_MS + 30_000);
  expect(headersTimeout).toBeGreaterThan(0);
});
