import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { controlApi } from './control.ts';
import { type Answer, type Call, type Connection, exchange } from './exchange.ts';
import { Ledger, type LedgerOptions } from './ledger.ts';
import { type MailServer, startMailServer } from './mail-server.ts';
import { sandboxProcessors } from './processors.ts';

/** Longer than clients keep idle sockets, so that no reset happens by accident. */
const KEEP_ALIVE_MS = 65_000;

export interface SandboxOptions extends Omit<LedgerOptions, 'processors'> {
  /** 0 picks a free one. */
  port: number;
  /** 127.0.0.1 by default. */
  host?: string;
  /** The port of a mail server; none by default. */
  smtpPort?: number | null;
}

export interface RunningSandbox {
  url: string;
  close(): Promise<void>;
}

/** Starts a sandbox. Its `url` is for this machine. */
export async function startSandbox({
  port,
  host = '127.0.0.1',
  smtpPort = null,
  ...options
}: SandboxOptions): Promise<RunningSandbox> {
  const server = createServer({ keepAliveTimeout: KEEP_ALIVE_MS });
  // A second sandbox on the port fails here, before it rewrites the data file.
  server.listen(port, host);
  await once(server, 'listening');
  const ledger = new Ledger({ ...options, processors: Object.values(sandboxProcessors) });
  const mailServer = smtpPort === null ? null : await startMailServer(smtpPort);
  const timers = new Set<NodeJS.Timeout>();
  const after: Connection['after'] = (ms, action) => {
    if (ms === 0) return action();
    const timer = setTimeout(() => {
      timers.delete(timer);
      action();
    }, ms);
    timers.add(timer);
  };
  server.on('request', requestHandler(ledger, after, mailServer));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    async close() {
      for (const timer of timers) clearTimeout(timer);
      await closeServer(server);
      await mailServer?.close();
      ledger.close();
    },
  };
}

function requestHandler(ledger: Ledger, after: Connection['after'], mailServer: MailServer | null) {
  const control = controlApi(ledger, mailServer);
  const { processors } = ledger;
  const places = processors.map(({ title, path }) => `${title} is at ${path}`).join(', ');
  return async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const { socket } = request;
    const send = (answer: Answer) => {
      const headers = { ...answer.headers, 'content-length': Buffer.byteLength(answer.body) };
      response.writeHead(answer.status, headers).end(answer.body);
    };
    const sendText = (status: number, body: string) =>
      send({ status, headers: { 'content-type': 'text/plain; charset=utf-8' }, body });
    try {
      const call = await readCall(request);
      ledger.settleDueRefunds();
      const processor = processors.find(({ path }) => call.path.startsWith(path));
      if (processor !== undefined) {
        const close = () => socket.destroy();
        exchange(ledger, processor, call, { send, close, reset: () => socket.resetAndDestroy(), after });
      } else if (call.path.startsWith('/_sandbox/')) {
        const answer = control(call);
        ledger.flush();
        send(answer);
      } else sendText(404, `${places}, control is at /_sandbox/.\n`);
    } catch (error) {
      // Either the caller disconnected, or the sandbox has a bug, which must not look like an answer of the processor.
      if (request.destroyed && !request.complete) return;
      console.error('sandbox failed on', request.method, request.url, error);
      sendText(599, 'The sandbox failed. See its log.\n');
    }
  };
}

async function readCall(request: IncomingMessage): Promise<Call> {
  const body = await readBody(request);
  const { method = 'GET', headers } = request;
  const { pathname: path, searchParams: query } = new URL(request.url ?? '/', 'http://sandbox');
  return { method, path, query, headers, body };
}

/** Uses events, which are three times as fast as iterating over the request. */
function readBody(request: IncomingMessage): Promise<string> {
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.once('end', () => resolve(Buffer.concat(chunks).toString('utf8')));
    request.once('error', reject);
  });
}

function closeServer(server: Server): Promise<void> {
  return new Promise((resolve, reject) => {
    server.close((error) => (error ? reject(error) : resolve()));
    server.closeAllConnections();
  });
}
