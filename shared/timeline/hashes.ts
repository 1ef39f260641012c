import { createHash, type Hash } from 'node:crypto';
import type { Environment } from '../platform/environment.ts';

// docs/operations/timeline.md has the encoding. Roots that were published depend on it, so it must never change.

/** SHA-256, in hexadecimal, of a JSON array of texts as `array_to_json` of PostgreSQL writes it. */
export function hashOf(...texts: readonly (string | null)[]): string {
  return createHash('sha256').update(JSON.stringify(texts)).digest('hex');
}

/** Whose events a root covers. */
export interface RootOwner {
  organizationId: string;
  environment: Environment;
}

/** What the root of a day covers. */
interface DayContent extends RootOwner {
  eventCount: number;
  /** SHA-256 of the hashes of all events, in the order of time and hash. */
  digest: string;
}

/** @param previousRoot of the owner's last day before that has events; null for the first. */
export function rootOf(
  day: string,
  { organizationId, environment, eventCount, digest }: DayContent,
  previousRoot: string | null,
): string {
  return hashOf('day', previousRoot, organizationId, environment, day, String(eventCount), digest);
}

/** Collects the events of a day, of all organizations, in memory that does not grow with their number. */
export class DayDigests {
  readonly #open = new Map<string, RootOwner & { eventCount: number; hash: Hash }>();

  /** Takes the events in the order of time and hash. @param hash in hexadecimal. */
  add({ organizationId, environment, hash }: RootOwner & { hash: string }): void {
    const key = `${organizationId} ${environment}`;
    const open = this.#open.get(key) ?? {
      ...{ organizationId, environment, eventCount: 0 },
      hash: createHash('sha256'),
    };
    open.eventCount += 1;
    open.hash.update(hash, 'hex');
    this.#open.set(key, open);
  }

  /** To be called once, after the last event. */
  contents(): DayContent[] {
    return [...this.#open.values()].map(({ hash, ...content }) => ({
      ...content,
      digest: hash.digest('hex'),
    }));
  }
}
