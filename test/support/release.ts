import { type QueueBackend, queueBackends } from './stores/backends.ts';

/** True in `npm run test:system`, which runs every case. `npm test` runs a slice of the system tests. */
export const isRelease = process.env.RELEASE === 'true';

/** For `describe.each` in system tests: the backend that production is likely to use, before a release both. */
export const systemBackends: readonly QueueBackend[] = isRelease ? queueBackends : queueBackends.slice(-1);
