import { madeBeforeTests } from './made-before-tests.ts';
import { type ServiceOptions, startService, type TestService } from './service.ts';
import { postgresQueues } from './stores/backends.ts';
import { createDatabase } from './stores/database-client.ts';
import { startPostgres } from './stores/embedded-postgres.ts';
import { prepareForTests } from './stores/service-role.ts';

/**
 * The same as `useService`, on a PostgreSQL of its own: for tests that count what is read. Elsewhere, old versions of rows are kept, and
 * read again and again, while any other test has a transaction open, and autovacuum changes plans.
 */
export function useServiceAlone(options: Partial<Omit<ServiceOptions, 'databaseUrl'>> = {}): TestService {
  const postgres = madeBeforeTests(
    'PostgreSQL',
    () => startPostgres({ durable: false, settings: { autovacuum: 'off', track_functions: 'all' } }),
    (server) => server.stop(),
  );
  return madeBeforeTests(
    'The service',
    async () => {
      const databaseUrl = await createDatabase(postgres.url, 'refunds');
      await prepareForTests(databaseUrl);
      return await startService({ backend: postgresQueues, ...options, databaseUrl });
    },
    (service) => service.close(),
  );
}
