import net from 'node:net';

/** What a server wrote before it closed the connection. */
export interface RawAnswer {
  status: number;
  /** Lower-case names; a header that came twice is joined with a comma. */
  headers: Record<string, string>;
  text: string;
  /** Everything, as it came. */
  raw: string;
}

/** A request as bytes: request line and headers joined by CRLF, then the body as it is. */
export function rawRequest(lines: readonly string[], body: string | Uint8Array = ''): Buffer {
  return Buffer.concat([Buffer.from(`${lines.join('\r\n')}\r\n\r\n`, 'latin1'), Buffer.from(body)]);
}

/**
 * Writes bytes to a port, whatever they are, and reads until the server closes the connection; so what is HTTP should
 * ask for that with `Connection: close`.
 * @throws Error when the server leaves the connection open for longer than `timeoutMs`.
 */
export async function sendBytes(port: number, bytes: Uint8Array, timeoutMs = 60_000): Promise<RawAnswer> {
  const socket = net.connect({ port, host: '127.0.0.1' });
  const received: Buffer[] = [];
  try {
    await new Promise<void>((resolve, reject) => {
      const timer = setTimeout(() => {
        const soFar = Buffer.concat(received).toString().slice(0, 200);
        reject(new Error(`The connection was still open after ${timeoutMs} ms; so far: ${soFar}`));
      }, timeoutMs);
      socket.on('data', (chunk) => received.push(chunk));
      // A server that refuses early may reset the connection while the rest is still being written.
      socket.on('error', () => undefined);
      socket.on('close', () => {
        clearTimeout(timer);
        resolve();
      });
      socket.write(bytes);
    });
  } finally {
    socket.destroy();
  }
  return parseAnswer(Buffer.concat(received).toString());
}

function parseAnswer(raw: string): RawAnswer {
  const [head = '', ...rest] = raw.split('\r\n\r\n');
  const [statusLine = '', ...lines] = head.split('\r\n');
  const headers: Record<string, string> = {};
  for (const line of lines) {
    const colon = line.indexOf(':');
    const name = line.slice(0, colon).toLowerCase();
    const value = line.slice(colon + 1).trim();
    headers[name] = headers[name] === undefined ? value : `${headers[name]}, ${value}`;
  }
  const status = Number(/^HTTP\/1\.1 (\d{3}) /.exec(statusLine)?.[1] ?? 0);
  return { status, headers, text: rest.join('\r\n\r\n'), raw };
}
