import { freePort, freePorts, isFree } from '../support/processes/free-port.ts';

/** The first preferred port that is free on 127.0.0.1, else any free port. */
export async function pickPort(...preferred: (number | null)[]): Promise<number> {
  for (const port of preferred) {
    if (port !== null && (await isFree(port))) return port;
  }
  return await freePort();
}

/** The preferred ports that are free on 127.0.0.1, then three others. */
export async function* candidatePorts(...preferred: (number | null)[]): AsyncGenerator<number> {
  for (const port of preferred) {
    if (port !== null && (await isFree(port))) yield port;
  }
  yield* await freePorts(3);
}

/** The port of a URL; null when it has none. */
export function portOf(url: string | undefined): number | null {
  return url !== undefined && URL.canParse(url) ? Number(new URL(url).port) || null : null;
}
