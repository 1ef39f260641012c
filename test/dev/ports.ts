import { createServer } from 'node:net';
import { freePort, freePorts } from '../support/processes/free-port.ts';

/** True when nothing listens on a port of this machine's address. */
export async function isFree(port: number, host: string): Promise<boolean> {
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
    server.close();
  }
}

/** The first free one of the ports that would be nice to have on 127.0.0.1, else any. */
export async function pickPort(...preferred: (number | null)[]): Promise<number> {
  for (const port of preferred) {
    if (port !== null && (await isFree(port, '127.0.0.1'))) return port;
  }
  return await freePort();
}

/** The free ones of the ports that would be nice to have on 127.0.0.1, and then a few others. */
export async function* candidatePorts(...preferred: (number | null)[]): AsyncGenerator<number> {
  for (const port of preferred) {
    if (port !== null && (await isFree(port, '127.0.0.1'))) yield port;
  }
  yield* await freePorts(3);
}

/** The port of an address that was noted earlier; null when there is none. */
export function portOf(url: string | undefined): number | null {
  return url !== undefined && URL.canParse(url) ? Number(new URL(url).port) || null : null;
}
