import { test } from 'vitest';
import { type QueueBackend, queueBackends } from './stores/backends.ts';

// `npm run test:system` runs every system test before a release. `npm run test:ci` runs a slice of them.

export const isRelease = process.env.RELEASE === 'true';

/** For `describe.each`: before a release every backend, else the one that production is likely to use. */
export const testedBackends: readonly QueueBackend[] = isRelease ? queueBackends : queueBackends.slice(-1);

/** A test that only runs before a release. It is not registered otherwise, because CI rejects skipped tests. */
export const releaseTest: (title: string, run: () => Promise<void>) => void = isRelease ? test : () => {};
