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
  /** How many requests were answered otherwise, or not at all, by status or error. */
  refusals: Map<string, number>;
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
 * machine that it shares with the service. A connection that the server closes is opened again.
 */
export async function runLoad(options: LoadOptions): Promise<LoadResult> {
  const result: LoadResult = { latencies: [], elapsedMs: 0, refusals: new Map() };
  const startedAt = performance.now();
  const endsAt = startedAt + options.seconds * 1000;
  await Promise.all(Array.from({ length: options.connections }, () => drive(options, endsAt, result)));
  result.elapsedMs = performance.now() - startedAt;
  return result;
}

/** Resolves once the time is over and the last request is answered. */
async function drive(options: LoadOptions, endsAt: number, result: LoadResult): Promise<void> {
  let connection: Connection | null = null;
  for (let sentAt = performance.now(); sentAt < endsAt; sentAt = performance.now()) {
    connection ??= new Connection(options.url);
    try {
      const { status, body, isLast } = await connection.ask(options.next());
      if (status === 200) {
        result.latencies.push(performance.now() - sentAt);
        options.onBody?.(body);
      } else count(result.refusals, String(status));
      if (!isLast) continue;
    } catch (error) {
      count(result.refusals, (error as NodeJS.ErrnoException).code ?? 'closed');
    }
    connection.close();
    connection = null;
  }
  connection?.close();
}

function count(refusals: LoadResult['refusals'], kind: string): void {
  refusals.set(kind, (refusals.get(kind) ?? 0) + 1);
}

interface Answer {
  status: number;
  body: string;
  /** The server closes the connection. */
  isLast: boolean;
}

class Connection {
  readonly #socket: Socket;
  #received: Buffer = Buffer.alloc(0);
  #resolve: (answer: Answer) => void = () => undefined;
  #reject: (error: Error) => void = () => undefined;

  constructor(url: string) {
    const { hostname: host, port } = new URL(url);
    this.#socket = connect({ host, port: Number(port), noDelay: true });
    this.#socket.on('data', (chunk) => this.#take(chunk));
    this.#socket.on('error', (error) => this.#reject(error));
    this.#socket.on('close', () => this.#reject(new Error('The connection was closed.')));
  }

  /** @throws Error when the connection ends before the answer. */
  ask(request: string): Promise<Answer> {
    return new Promise((resolve, reject) => {
      this.#resolve = resolve;
      this.#reject = reject;
      this.#socket.write(request);
    });
  }

  close(): void {
    this.#socket.destroy();
  }

  #take(chunk: Buffer): void {
    this.#received = this.#received.length === 0 ? chunk : Buffer.concat([this.#received, chunk]);
    const answer = parseAnswer(this.#received);
    if (answer === null) return;
    this.#received = Buffer.alloc(0);
    this.#resolve(answer);
  }
}

/** Null until the answer is complete. Answers of the bench's requests have a Content-Length. */
function parseAnswer(received: Buffer): Answer | null {
  const headEnd = received.indexOf('\r\n\r\n');
  if (headEnd === -1) return null;
  const head = received.toString('latin1', 0, headEnd);
  const length = Number(/\r\ncontent-length: *(\d+)/i.exec(head)?.[1] ?? 0);
  const end = headEnd + 4 + length;
  if (received.length < end) return null;
  const isLast = /\r\nconnection: *close/i.test(head);
  return { status: Number(head.slice(9, 12)), body: received.toString('utf8', headEnd + 4, end), isLast };
}
