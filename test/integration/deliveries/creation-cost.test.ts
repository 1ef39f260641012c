import { expect, test } from 'vitest';
import { withClient } from '../../support/stores/database-client.ts';
import { useService } from '../../support/use-service.ts';
import { addEndpoint, recordRefunds } from '../../support/webhooks/endpoints.ts';

const service = useService({ workers: 0 });
const url = 'http://127.0.0.1:1/';

test('new events are looked for once, however many endpoints other organizations have', async () => {
  await addEndpoint(service, { url });
  const { id: organizationId } = await service.addOrganization('Other');
  for (let each = 0; each < 20; each += 1) await addEndpoint(service, { url, organizationId });
  await recordRefunds(service, 3);
  const counted = await withClient(service.databaseUrl, async (client) => {
    await client.query('BEGIN');
    const { rows: created } = await client.query(
      'SELECT cardinality(to_enqueue) AS count FROM create_deliveries(200)',
    );
    const { rows: scans } = await client.query(
      `SELECT sum(pg_stat_get_xact_numscans(indexrelid))::int AS count FROM pg_index
       WHERE indrelid = 'refund_event'::regclass`,
    );
    await client.query('ROLLBACK');
    return { created: created[0].count, scans: scans[0].count };
  });
  expect(counted).toEqual({ created: 3, scans: 1 });
});
