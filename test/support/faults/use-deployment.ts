import { inject } from 'vitest';
import { madeBeforeTests } from '../made-before-tests.ts';
import { postgresQueues } from '../stores/backends.ts';
import { useDatabase } from '../stores/database.ts';
import { type Deployment, type DeployOptions, deploy } from './deployment.ts';

/** Gives a test file, or a `describe` block, a deployment with a database. By default its queues are in PostgreSQL. */
export function useDeployment({
  backend = postgresQueues,
  ...more
}: Partial<Pick<DeployOptions, 'backend' | 'settings'>> = {}): Deployment {
  const databaseUrl = useDatabase();
  return madeBeforeTests(
    'The deployment',
    () => deploy({ databaseUrl: databaseUrl(), backend, compiledFolder: inject('compiledFolder'), ...more }),
    (deployment) => deployment.close(),
  );
}
