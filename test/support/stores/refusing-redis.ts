import type { AddressInfo } from 'node:net';
import { createServer, type Socket } from 'node:net';

export interface RefusingRedis {
  url: string;
  /** How many scripts it was asked to run. */
  scripts: number;
  close(): Promise<void>;
}

/** What it is asked for. `isWrite` is true of a script that writes, too. */
export interface RedisCommand {
  name: string;
  isWrite: boolean;
}

/**
 * A Redis that refuses commands. It forgets scripts, so that each comes with its text.
 * @param refusalOf the error for a command, such as `OOM command not allowed`; null for one that is answered as by an empty Redis.
 */
export async function startRefusingRedis(
  refusalOf: (command: RedisCommand) => string | null,
): Promise<RefusingRedis> {
  let scripts = 0;
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    sockets.add(socket);
    socket.on('close', () => sockets.delete(socket));
    socket.on('error', () => {});
    let unread = '';
    // Latin-1 keeps one character per byte, as the lengths of the protocol count.
    socket.setEncoding('latin1');
    socket.on('data', (chunk) => {
      unread += chunk;
      for (let read = readCommand(unread); read !== null; read = readCommand(unread)) {
        unread = unread.slice(read.length);
        if (read.name === 'evalsha') scripts += 1;
        const refusal = refusalOf(read);
        socket.write(refusal === null ? (answers[read.name] ?? '+OK\r\n') : `-${refusal}\r\n`);
      }
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  return {
    url: `redis://127.0.0.1:${port}`,
    get scripts() {
      return scripts;
    },
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        for (const socket of sockets) socket.destroy();
      }),
  };
}

const info = 'redis_version:7.2.0\r\nloading:0\r\n';
const none = '$-1\r\n';
const answers: Readonly<Record<string, string>> = {
  info: `$${info.length}\r\n${info}\r\n`,
  get: none,
  bzpopmin: '*-1\r\n',
  evalsha: '-NOSCRIPT No matching script. Please use EVAL.\r\n',
  eval: '*0\r\n',
};

/** In the text of a script, or as a command. */
const writes = /\b(SET|INCR|HSET|HINCRBY|LPUSH|RPUSH|ZADD|XADD)\b/i;

/** The first command of what was received, an array of strings with their lengths; null while it is incomplete. */
function readCommand(received: string): (RedisCommand & { length: number }) | null {
  const head = /^\*(\d+)\r\n/.exec(received);
  if (head === null) return null;
  let at = head[0].length;
  const parts: string[] = [];
  for (let index = 0; index < Number(head[1]); index += 1) {
    const size = /^\$(\d+)\r\n/.exec(received.slice(at, at + 16));
    if (size === null) return null;
    const start = at + size[0].length;
    at = start + Number(size[1]) + 2;
    if (received.length < at) return null;
    parts.push(received.slice(start, at - 2));
  }
  const [name = '', script = ''] = parts;
  const isWrite = writes.test(name === 'eval' ? script : name);
  return { name: name.toLowerCase(), isWrite, length: at };
}
