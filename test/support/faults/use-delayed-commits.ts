import { madeBeforeTests } from '../made-before-tests.ts';
import { startService, type TestService } from '../service.ts';
import { postgresQueues } from '../stores/backends.ts';
import { useDatabase } from '../stores/database.ts';
import { CommitDelayingProxy } from './commit-delaying-proxy.ts';

/** Gives a test file a service without workers whose connections to PostgreSQL a proxy can cut during a commit. */
export function useDelayedCommits(): {
  service: TestService;
  proxy: CommitDelayingProxy;
  /** The database without the proxy. */
  databaseUrl: () => string;
} {
  const databaseUrl = useDatabase();
  const proxy = madeBeforeTests(
    'The proxy in front of PostgreSQL',
    () => CommitDelayingProxy.open(databaseUrl()),
    (opened) => opened.close(),
  );
  const service = madeBeforeTests(
    'The service',
    () => startService({ databaseUrl: proxy.url, backend: postgresQueues, workers: 0 }),
    (started) => started.close(),
  );
  return { service, proxy, databaseUrl };
}
