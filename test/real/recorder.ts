import { once } from 'node:events';
import { createServer, type IncomingMessage, request as requestHttp } from 'node:http';
import { request as requestHttps } from 'node:https';
import type { AddressInfo } from 'node:net';
import { buffer } from 'node:stream/consumers';
import { openAgent, type ProxySettings } from '#shared/platform/outgoing/proxy.ts';

/** One request to a processor, and its answer. */
export interface Exchange {
  method: string;
  path: string;
  status: number;
  contentType: string;
  body: string;
}

export interface Recorder {
  url: string;
  /** What passed since it was last taken. */
  take(): Exchange[];
  close(): Promise<void>;
}

/** A server that passes every request on, unchanged, and keeps the answers. Credentials are in headers, which are not kept. */
export async function startRecorder(base: string, proxies: ProxySettings): Promise<Recorder> {
  let exchanges: Exchange[] = [];
  const server = createServer(async (incoming, response) => {
    try {
      const answer = await passOn(base, incoming, proxies);
      const body = await buffer(answer);
      const { statusCode: status = 502, headers } = answer;
      const contentType = headers['content-type'] ?? '';
      const { method = '', url: path = '' } = incoming;
      exchanges.push({ method, path, status, contentType, body: body.toString('utf8') });
      const { 'transfer-encoding': _, ...kept } = headers;
      response.writeHead(status, { ...kept, 'content-length': body.length });
      response.end(body);
    } catch (error) {
      console.error(`${base} did not answer: ${error instanceof Error ? error.message : 'unknown error'}`);
      response.destroy();
    }
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    take() {
      const taken = exchanges;
      exchanges = [];
      return taken;
    },
    async close() {
      server.close();
      server.closeAllConnections();
      await once(server, 'close');
    },
  };
}

async function passOn(
  base: string,
  incoming: IncomingMessage,
  proxies: ProxySettings,
): Promise<IncomingMessage> {
  const url = new URL(incoming.url ?? '/', base);
  const send = url.protocol === 'https:' ? requestHttps : requestHttp;
  // Uncompressed, so that the answer can be read.
  const { host: _, 'accept-encoding': _encoding, ...headers } = incoming.headers;
  const agent = openAgent(url, {}, proxies);
  const outgoing = send(url, { method: incoming.method, headers, agent });
  incoming.pipe(outgoing);
  const [answer] = (await once(outgoing, 'response')) as [IncomingMessage];
  return answer;
}
