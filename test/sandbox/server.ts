import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { openControl } from './control.ts';
import { type Answer, type Call, type Delivery, exchange } from './exchange.ts';
import { Faults } from './faults.ts';
import { Ledger } from './ledger/ledger.ts';
import { settleDueRefunds, startSettlement } from './ledger/settlement.ts';
import type { Sandbox } from './ledger/state.ts';
import type { SandboxProcessor } from './processor.ts';
import { sandboxProcessors } from './processors.ts';
import { startWebhooks } from './webhooks.ts';

const MAX_BODY_BYTES = 1_048_576;
/** Longer than clients keep idle sockets, so that no reset happens by accident. */
const KEEP_ALIVE_MS = 65_000;

export interface SandboxOptions {
  /** 0 picks a free one. */
  port: number;
  host?: string;
  /** Where the state lives; without it, nothing survives a restart. */
  dataFile?: string;
  /** Milliseconds since 1970; for tests that do not want to wait. */
  now?: () => number;
  /** Stripe and Braintree by default. */
  processors?: readonly SandboxProcessor[];
  /** Takes a line when webhooks could not be delivered. */
  report?: (line: string) => void;
}

export interface RunningSandbox {
  url: string;
  port: number;
  close(): Promise<void>;
}

export async function startSandbox(options: SandboxOptions): Promise<RunningSandbox> {
  const host = options.host ?? '127.0.0.1';
  const server = createServer({ keepAliveTimeout: KEEP_ALIVE_MS });
  // A second sandbox on the port fails here, before it rewrites the data file.
  await listen(server, options.port, host);
  const processors = options.processors ?? Object.values(sandboxProcessors);
  const byName = new Map(processors.map((each) => [each.name, each]));
  const processor = (name: string): SandboxProcessor => {
    const found = byName.get(name);
    if (found === undefined) throw new RangeError(`The sandbox has no processor ${name}.`);
    return found;
  };
  const ledger = await openLedger(server, processors, options.dataFile);
  const webhooks = startWebhooks(ledger, processor, options.report ?? (() => undefined));
  const sandbox: Sandbox = {
    processors,
    processor,
    ledger,
    faults: new Faults(),
    now: options.now ?? Date.now,
    announce: webhooks.announce,
  };
  const held = new Set<NodeJS.Timeout>();
  server.on('request', requestHandler(sandbox, held));
  const stopSettlement = startSettlement(sandbox);
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://${host}:${port}`,
    port,
    close: async () => {
      stopSettlement();
      webhooks.stop();
      for (const timer of held) clearTimeout(timer);
      await closeServer(server);
      ledger.close();
    },
  };
}

async function openLedger(
  server: Server,
  processors: readonly SandboxProcessor[],
  dataFile: string | undefined,
): Promise<Ledger> {
  try {
    return new Ledger(processors, dataFile);
  } catch (error) {
    await closeServer(server);
    throw error;
  }
}

function requestHandler(sandbox: Sandbox, held: Set<NodeJS.Timeout>) {
  const respond = responder(sandbox);
  return async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    try {
      const call = await readCall(request);
      settleDueRefunds(sandbox);
      deliver(sandbox, respond(call), { request, response, held });
    } catch (error) {
      // Either the caller disconnected, or the sandbox has a bug, which must not look like an answer of the processor.
      if (request.destroyed && !request.complete) return;
      console.error('sandbox failed on', request.method, request.url, error);
      send(response, plainText(599, 'The sandbox failed. See its log.\n'));
    }
  };
}

/** Finds the processor, or the control API, by the beginning of the path. */
function responder(sandbox: Sandbox): (call: Call) => Delivery {
  const gateways = sandbox.processors.map(({ path, gateway }) => ({ path, gateway: gateway(sandbox) }));
  const control = openControl(sandbox);
  const places = sandbox.processors.map(({ title, path }) => `${title} is at ${path}`);
  const notFound = plainText(404, `${[...places, 'control is at /_sandbox/'].join(', ')}.\n`);
  return (call) => {
    const found = gateways.find(({ path }) => call.path.startsWith(path));
    const { latencyMs } = sandbox.ledger.settings;
    if (found !== undefined) return exchange(found.gateway, call, sandbox.faults, latencyMs);
    const answer = call.path.startsWith('/_sandbox/') ? control(call) : notFound;
    return { kind: 'answer', answer, afterMs: 0, finished: () => undefined };
  };
}

interface Exchange {
  request: IncomingMessage;
  response: ServerResponse;
  /** Timers of answers that are held back. */
  held: Set<NodeJS.Timeout>;
}

function deliver(sandbox: Sandbox, delivery: Delivery, { request, response, held }: Exchange): void {
  switch (delivery.kind) {
    case 'reset':
      request.socket.resetAndDestroy();
      if (delivery.work !== undefined) later(held, delivery.afterMs ?? 0, delivery.work);
      return;
    case 'hang':
      later(held, delivery.forMs, () => {
        delivery.last();
        request.socket.destroy();
      });
      return;
    case 'answer':
      later(held, delivery.afterMs, () => {
        sandbox.ledger.onceWritten(() => {
          delivery.finished();
          send(response, delivery.answer);
        });
      });
  }
}

function later(held: Set<NodeJS.Timeout>, afterMs: number, action: () => void): void {
  if (afterMs === 0) {
    action();
    return;
  }
  const timer = setTimeout(() => {
    held.delete(timer);
    action();
  }, afterMs);
  held.add(timer);
}

function send(response: ServerResponse, answer: Answer): void {
  response.writeHead(answer.status, { ...answer.headers, 'content-length': Buffer.byteLength(answer.body) });
  response.end(answer.body);
}

async function readCall(request: IncomingMessage): Promise<Call> {
  const body = await readBody(request);
  const url = new URL(request.url ?? '/', 'http://sandbox');
  return {
    method: request.method ?? 'GET',
    path: url.pathname,
    query: url.searchParams,
    headers: request.headers,
    body,
  };
}

/** Uses events, which are three times as fast as iterating over the request. */
function readBody(request: IncomingMessage): Promise<string> {
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    let bytes = 0;
    request.on('data', (chunk: Buffer) => {
      bytes += chunk.length;
      if (bytes > MAX_BODY_BYTES) reject(new Error(`body over ${MAX_BODY_BYTES} bytes`));
      else chunks.push(chunk);
    });
    request.once('end', () => resolve(Buffer.concat(chunks).toString('utf8')));
    request.once('error', reject);
  });
}

function plainText(status: number, body: string): Answer {
  return { status, headers: { 'content-type': 'text/plain; charset=utf-8' }, body };
}

function listen(server: Server, port: number, host: string): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, host, () => {
      server.off('error', reject);
      resolve();
    });
  });
}

function closeServer(server: Server): Promise<void> {
  return new Promise((resolve, reject) => {
    server.close((error) => (error ? reject(error) : resolve()));
    server.closeAllConnections();
  });
}
