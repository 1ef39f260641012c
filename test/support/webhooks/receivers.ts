import { createServer, type IncomingHttpHeaders, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Webhook } from 'standardwebhooks';
import { afterEach } from 'vitest';
import type { ParsedJson } from '../parsed-json.ts';

/** A webhook as its receiver saw it. */
export interface ReceivedWebhook {
  headers: IncomingHttpHeaders;
  /** The exact text. */
  body: string;
  event: ParsedJson;
}

/** What a receiver does with a webhook. */
export type Respond = (response: ServerResponse, webhook: ReceivedWebhook) => void;

/** A receiver of webhooks on a port of its own. */
export interface Receiver {
  url: string;
  port: number;
  received: ReceivedWebhook[];
  /** Connections that were made, whether a request came or not. */
  connections: number;
  /** May be replaced at any time. */
  respond: Respond;
  close(): Promise<void>;
}

/** Receivers of every kind. */
export const responses = {
  accept: (response) => response.writeHead(204).end(),
  fail: (response) => response.writeHead(500, { 'content-type': 'text/plain' }).end('no such luck'),
  redirect: (response) => response.writeHead(302, { location: 'http://127.0.0.1:1/' }).end(),
  gone: (response) => response.writeHead(410).end(),
  reset: (response) => response.socket?.resetAndDestroy(),
  resetInBody: (response) => {
    response.writeHead(200, { 'content-length': '100' }).write('only this');
    setTimeout(() => response.socket?.resetAndDestroy(), 20);
  },
  hang: () => {},
  hangAfterHeaders: (response) => response.writeHead(200).flushHeaders(),
  trickle: (response) => {
    response.writeHead(200);
    const drip = setInterval(() => response.write('.'), 10);
    response.once('close', () => clearInterval(drip));
  },
  megabytes: (response) => {
    response.writeHead(200);
    const chunk = Buffer.alloc(1024 * 1024, 'x');
    const pour = () => {
      while (!response.destroyed && response.write(chunk));
    };
    response.on('drain', pour);
    pour();
  },
  malformed: (response) => response.socket?.end('this is not HTTP\r\n\r\n'),
} as const satisfies Record<string, Respond>;

async function startReceiver(respond: Respond = responses.accept): Promise<Receiver> {
  const server = createServer(async (request, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request as AsyncIterable<Buffer>) chunks.push(chunk);
    const body = Buffer.concat(chunks).toString('utf8');
    const webhook = { headers: request.headers, body, event: JSON.parse(body || 'null') };
    receiver.received.push(webhook);
    receiver.respond(response, webhook);
  });
  server.on('connection', () => {
    receiver.connections += 1;
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  const receiver: Receiver = {
    url: `http://127.0.0.1:${port}/hook`,
    port,
    received: [],
    connections: 0,
    respond,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
  return receiver;
}

/** Gives a test file receivers that are closed after the test that started them. */
export function useReceivers(): (respond?: Respond) => Promise<Receiver> {
  const receivers: Receiver[] = [];
  afterEach(async () => {
    await Promise.all(receivers.splice(0).map((receiver) => receiver.close()));
  });
  return async (respond) => {
    const receiver = await startReceiver(respond);
    receivers.push(receiver);
    return receiver;
  };
}

/**
 * Verifies a webhook with the public package, over the exact text.
 * @throws when the signature does not match, or the time is more than five minutes off.
 */
export function verify({ headers, body }: ReceivedWebhook, secret: string): unknown {
  return new Webhook(secret).verify(body, headers as Record<string, string>);
}
