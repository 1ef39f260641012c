import { subscribe } from 'node:diagnostics_channel';
import type { IncomingMessage } from 'node:http';
import type { FastifyInstance } from 'fastify';
import { expect, test } from 'vitest';
import { useExposedService } from '#test/support/http/exposed-service.ts';
import { rawRequest, sendBytes } from '#test/support/http/raw-http.ts';

/** Requests that got as far as the first hook. */
const started = new Set<IncomingMessage>();
subscribe('fastify.initialization', (announced) => {
  const { fastify } = announced as { fastify: FastifyInstance };
  fastify.addHook('onRequest', async ({ raw }) => {
    started.add(raw);
  });
});
const exposed = useExposedService();

test('a connection that sends thousands of requests at once has ten of them started', async () => {
  started.clear();
  const request = rawRequest(['GET /nothing HTTP/1.1', 'Host: refunds']);
  await sendBytes(exposed.port, Buffer.concat(Array.from({ length: 3_000 }, () => request)));
  expect(started.size).toBe(10);
});

test('answers a few requests that are sent at once, in their order', async () => {
  const lines = [200, 404, 200].map((status) => `GET /${status === 200 ? 'healthz' : 'nothing'} HTTP/1.1`);
  const requests = lines.map((line) => rawRequest([line, 'Host: refunds']));
  const last = rawRequest(['GET /nothing HTTP/1.1', 'Host: refunds', 'Connection: close']);
  const { raw } = await sendBytes(exposed.port, Buffer.concat([...requests, last]));
  expect(raw.match(/HTTP\/1\.1 \d+/g)).toEqual([200, 404, 200, 404].map((status) => `HTTP/1.1 ${status}`));
});
