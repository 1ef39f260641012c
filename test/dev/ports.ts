import { createServer } from 'node:net';
import { freePort, freePorts } from '../support/processes/free-port.ts';

/** True when no program listens on a port of a local address. */
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

/** The first preferred port that is free on 127.0.0.1, else any free port. */
export async function pickPort(...preferred: (number | null)[]): Promise<number> {
  for (const port of preferred) {
    if (port !== null && (await isFree(port, '127.0.0.1'))) return port;
  }
  return await freePort();
}

/** The preferred ports that are free on 127.0.0.1, then three others. */
export async function* candidatePorts(...preferred: (number | null)[]): AsyncGenerator<number> {
  for (const port of preferred) {
    if (port !== null && (await isFree(port, '127.0.0.1'))) yield port;
  }
  yield* await freePorts(3);
}

/** The port of a URL; null when it has none. */
export function portOf(url: string | undefined): number | null {
  return url !== undefined && URL.canParse(url) ? Number(new URL(url).port) || null : null;
}
