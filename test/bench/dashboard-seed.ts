import { parseArgs } from 'node:util';
import { environments, isEnvironment } from '../../shared/platform/environment.ts';
import { runMain } from '../../shared/platform/process.ts';
import { fillLifelikeRefunds } from '../support/refunds/lifelike-refunds.ts';
import { withClient } from '../support/stores/database-client.ts';

// node --import tsx test/bench/dashboard-seed.ts --database <url> --organization <id> [--environment test]
// [--refunds 5000] [--days 90]: fills an organization that has both its accounts with refunds that look real.

runMain(async () => {
  const { values } = parseArgs({
    options: {
      database: { type: 'string' },
      organization: { type: 'string' },
      environment: { type: 'string', default: 'test' },
      refunds: { type: 'string', default: '5000' },
      days: { type: 'string', default: '90' },
    },
  });
  const { database, organization: organizationId, environment } = values;
  if (database === undefined || organizationId === undefined || !isEnvironment(environment)) {
    throw new TypeError(
      `Say --database, --organization and, if told, --environment ${environments.join(' or ')}.`,
    );
  }
  const count = Number(values.refunds);
  await withClient(database, (client) =>
    fillLifelikeRefunds(client, {
      organizationId,
      environment,
      count,
      now: new Date(),
      days: Number(values.days),
    }),
  );
  process.stdout.write(`${organizationId} has ${count} more refunds in ${environment}.\n`);
});
