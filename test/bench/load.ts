import { connect, type Socket } from 'node:net';

export interface LoadOptions {
  /** The server; only its host and port count. */
  url: string;
  connections: number;
  seconds: number;
  /** The next request, from `encodeRequest`. */
  next: () => string;
  /** Takes the body of each 200. */
  onBody?: (body: string) => void;
}

export interface LoadResult {
  /** Milliseconds from request to answer, one entry per 200. */
  latencies: number[];
  elapsedMs: number;
  /** Answers other than 200, and the first of them. */
  failures: number;
  firstFailure: string | null;
}

export interface EncodedRequest {
  method: 'GET' | 'POST';
  path: string;
  headers?: Record<string, string>;
  body?: string;
}

/** The bytes of a request. */
export function encodeRequest({ method, path, headers = {}, body }: EncodedRequest): string {
  const content: Record<string, string> =
    body === undefined ? {} : { 'content-length': String(Buffer.byteLength(body)) };
  const lines = Object.entries({ host: 'bench', ...headers, ...content }).map(
    ([name, value]) => `${name}: ${value}`,
  );
  return `${method} ${path} HTTP/1.1\r\n${lines.join('\r\n')}\r\n\r\n${body ?? ''}`;
}

/**
 * Sends requests over a fixed number of connections, one at a time on each. It uses plain sockets to take little of the
 * machine that it shares with the service.
 */
export async function runLoad(options: LoadOptions): Promise<LoadResult> {
  const result: LoadResult = { latencies: [], elapsedMs: 0, failures: 0, firstFailure: null };
  const { hostname, port } = new URL(options.url);
  const sockets = await Promise.all(
    Array.from({ length: options.connections }, () => open(hostname, Number(port))),
  );
  const startedAt = performance.now();
  const endsAt = startedAt + options.seconds * 1000;
  try {
    await Promise.all(sockets.map((socket) => drive(socket, options, endsAt, result)));
  } finally {
    for (const socket of sockets) socket.destroy();
  }
  result.elapsedMs = performance.now() - startedAt;
  return result;
}

function open(host: string, port: number): Promise<Socket> {
  return new Promise((resolve, reject) => {
    const socket = connect({ host, port, noDelay: true }, () => resolve(socket.off('error', reject)));
    socket.once('error', reject);
  });
}

/** Resolves once the time is over and the last request is answered. */
function drive(socket: Socket, options: LoadOptions, endsAt: number, result: LoadResult): Promise<void> {
  return new Promise((resolve, reject) => {
    let sentAt = 0;
    let received: Buffer = Buffer.alloc(0);
    const send = () => {
      sentAt = performance.now();
      if (sentAt >= endsAt) resolve();
      else socket.write(options.next());
    };
    socket.on('data', (chunk) => {
      received = received.length === 0 ? chunk : Buffer.concat([received, chunk]);
      try {
        const answer = parseAnswer(received);
        if (answer === null) return;
        received = Buffer.alloc(0);
        record(answer, performance.now() - sentAt, options, result);
        send();
      } catch (error) {
        reject(error);
      }
    });
    socket.once('error', reject);
    socket.once('close', () => reject(new Error(`${options.url} closed a connection during the load.`)));
    send();
  });
}

interface Answer {
  status: number;
  body: string;
}

/** Null until the answer is complete. */
function parseAnswer(received: Buffer): Answer | null {
  const headEnd = received.indexOf('\r\n\r\n');
  if (headEnd === -1) return null;
  const head = received.toString('latin1', 0, headEnd);
  const length = /\r\ncontent-length: *(\d+)/i.exec(head)?.[1];
  if (length === undefined) throw new Error(`An answer has no Content-Length:\n${head}`);
  const end = headEnd + 4 + Number(length);
  if (received.length < end) return null;
  return { status: Number(head.slice(9, 12)), body: received.toString('utf8', headEnd + 4, end) };
}

function record({ status, body }: Answer, latencyMs: number, { onBody }: LoadOptions, result: LoadResult) {
  if (status === 200) {
    result.latencies.push(latencyMs);
    onBody?.(body);
    return;
  }
  result.failures += 1;
  result.firstFailure ??= `${status} ${body}`;
}
