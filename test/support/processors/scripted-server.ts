import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach } from 'vitest';

/** What a scripted server saw. */
export interface Seen {
  method: string;
  path: string;
  headers: IncomingMessage['headers'];
  body: string;
}

export interface ScriptedServer {
  url: string;
  port: number;
  seen: Seen[];
  /** Connections that were made, whether a request came or not. */
  connections: number;
  close(): Promise<void>;
}

/** Starts a server that answers as the test says. */
export type Serve = (answer: (seen: Seen, response: ServerResponse) => void) => Promise<ScriptedServer>;

/** Gives a test file servers that are closed after the test that started them. */
export function useScriptedServers(): Serve {
  const servers: ScriptedServer[] = [];
  afterEach(async () => {
    await Promise.all(servers.splice(0).map((server) => server.close()));
  });
  return async (answer) => {
    const server = await startScriptedServer(answer);
    servers.push(server);
    return server;
  };
}

const startScriptedServer: Serve = async (answer) => {
  const seen: Seen[] = [];
  const server = createServer(async (request, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request as AsyncIterable<Buffer>) chunks.push(chunk);
    const call: Seen = {
      method: request.method ?? '',
      path: request.url ?? '',
      headers: request.headers,
      body: Buffer.concat(chunks).toString('utf8'),
    };
    seen.push(call);
    answer(call, response);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  const url = `http://127.0.0.1:${port}`;
  const scripted: ScriptedServer = { url, port, seen, connections: 0, close: () => closed(server) };
  server.on('connection', () => {
    scripted.connections += 1;
  });
  return scripted;
};

/** Answers JSON. */
export function json(response: ServerResponse, status: number, content: unknown): void {
  response.writeHead(status, { 'content-type': 'application/json' });
  response.end(JSON.stringify(content));
}

/** Answers XML. */
export function xml(response: ServerResponse, status: number, content: string): void {
  response.writeHead(status, { 'content-type': 'application/xml; charset=utf-8' });
  response.end(content);
}

function closed(server: Server): Promise<void> {
  return new Promise((resolve) => {
    server.close(() => resolve());
    server.closeAllConnections();
  });
}
