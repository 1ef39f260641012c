import type { IncomingHttpHeaders, ServerResponse } from 'node:http';
import { Webhook } from 'standardwebhooks';
import type { ParsedJson } from '../parsed-json.ts';
import { type ScriptedServer, useScriptedServers } from '../processors/scripted-server.ts';

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
export interface Receiver extends Omit<ScriptedServer, 'seen'> {
  received: ReceivedWebhook[];
  /** May be replaced at any time. */
  respond: Respond;
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

/** Gives a test file receivers that are closed after the test that started them. */
export function useReceivers(): (respond?: Respond) => Promise<Receiver> {
  const serve = useScriptedServers();
  return async (respond = responses.accept) => {
    const server = await serve(({ headers, body }, response) => {
      const webhook = { headers, body, event: JSON.parse(body || 'null') };
      receiver.received.push(webhook);
      receiver.respond(response, webhook);
    });
    const receiver = Object.assign(server, { url: `${server.url}/hook`, received: [], respond }) as Receiver;
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
