import { freePort, isFree } from '../support/processes/free-port.ts';

/** The first preferred port that is free on 127.0.0.1, else any free port. */
export async function pickPort(...preferred: (number | null)[]): Promise<number> {
  for (const port of preferred) {
    if (port !== null && (await isFree(port))) return port;
  }
  return await freePort();
}

/** The port of a URL; null when it has none. */
export function portOf(url: string | undefined): number | null {
  return url !== undefined && URL.canParse(url) ? Number(new URL(url).port) || null : null;
}
