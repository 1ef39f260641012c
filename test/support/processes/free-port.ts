import { randomInt } from 'node:crypto';
import { createServer } from 'node:net';

/**
 * Below the ports of outgoing connections, which could take the port of a server that is down for a moment. Even a
 * client that reconnects to that server could get its port and connect to itself.
 */
const range = { from: 10_000, to: 32_000 };
const mostTries = 50;

/**
 * A TCP port of 127.0.0.1 that nothing listens on at the moment.
 * @throws Error when none was found.
 */
export async function freePort(): Promise<number> {
  for (let tries = 0; tries < mostTries; tries += 1) {
    const port = randomInt(range.from, range.to);
    if (await isFree(port).catch(() => false)) return port;
  }
  throw new Error(`No free port was found between ${range.from} and ${range.to}.`);
}

/** True when no program listens on a port of a local address. */
export async function isFree(port: number, host = '127.0.0.1'): Promise<boolean> {
  const server = createServer();
  try {
    await new Promise<void>((resolve, reject) => {
      server.once('error', reject);
      server.listen({ port, host, exclusive: true }, resolve);
    });
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EADDRINUSE') return false;
    throw error;
  } finally {
    await new Promise((resolve) => server.close(resolve));
  }
}

/** Several different free ports. */
export async function freePorts(count: number): Promise<number[]> {
  const ports = new Set<number>();
  while (ports.size < count) ports.add(await freePort());
  return [...ports];
}
