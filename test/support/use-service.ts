import { madeBeforeTests } from './made-before-tests.ts';
import { type ServiceOptions, startService, type TestService } from './service.ts';
import { postgresQueues } from './stores/backends.ts';
import { useDatabase } from './stores/database.ts';

/**
 * Gives a test file, or a `describe` block, the whole service with a database. By default its queues are in PostgreSQL.
 * Call it before the hooks that use it, so that the service is closed after them.
 */
export function useService(options: Partial<Omit<ServiceOptions, 'databaseUrl'>> = {}): TestService {
  const databaseUrl = useDatabase();
  return madeBeforeTests(
    'The service',
    () => startService({ backend: postgresQueues, ...options, databaseUrl: databaseUrl() }),
    (service) => service.close(),
  );
}
