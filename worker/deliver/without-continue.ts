import type { Socket } from 'node:net';

const beginning = Buffer.from('HTTP/1.1 100 ');
const end = '\r\n\r\n';

/** The most bytes of one that is skipped. */
const mostBytes = 4 * 1024;

/**
 * Skips each "100 Continue" before a response. Servers may send one without being asked (RFC 9110, section 15.2.1), and undici, which
 * ignores other interim responses, ends the connection.
 */
export function withoutContinue(socket: Socket): Socket {
  const [read, write] = [socket.read.bind(socket), socket.write];
  let isBeforeResponse = true;
  let held = Buffer.alloc(0);
  socket.write = (...written: unknown[]) => {
    isBeforeResponse = true;
    return Reflect.apply(write, socket, written);
  };
  socket.read = (size) => {
    for (let chunk = read(size); chunk !== null; chunk = read(size)) {
      if (!isBeforeResponse) return chunk;
      held = afterContinue(Buffer.concat([held, chunk]));
      if (held.length === 0 || isUnfinished(held)) continue;
      const response = held;
      held = Buffer.alloc(0);
      isBeforeResponse = false;
      return response;
    }
    return null;
  };
  return socket;
}

function isContinue(bytes: Buffer): boolean {
  const length = Math.min(bytes.length, beginning.length);
  return bytes.subarray(0, length).equals(beginning.subarray(0, length));
}

function isUnfinished(bytes: Buffer): boolean {
  return isContinue(bytes) && bytes.length < mostBytes;
}

function afterContinue(bytes: Buffer): Buffer<ArrayBuffer> {
  let rest = Buffer.from(bytes);
  for (let at = rest.indexOf(end); at >= 0 && isContinue(rest); at = rest.indexOf(end)) {
    rest = rest.subarray(at + end.length);
  }
  return rest;
}
