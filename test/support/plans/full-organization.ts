import { fillLifelikeRefunds } from '../refunds/lifelike-refunds.ts';
import type { TestService } from '../service.ts';
import { withClient } from '../stores/database-client.ts';

const filledTables = [
  'refund',
  'refund_work',
  'refund_event',
  'payment',
  'payment_name',
  'webhook_delivery',
  'processor_event',
];

/** Nothing analyzes the tables that are filled from now on. Discards the plans that sessions keep, so it comes before them. */
export async function keepStatistics(databaseUrl: string): Promise<void> {
  await withClient(databaseUrl, async (client) => {
    for (const table of filledTables)
      await client.query(`alter table ${table} set (autovacuum_enabled = off)`);
  });
}

/**
 * Fills the service's organization with refunds that are due unless they await approval, a delivery to an endpoint for each public
 * event, and events of a processor. Of deliveries and of these events, retention deletes a part that one statement takes.
 */
export async function fillOrganization(
  service: TestService,
  endpointId: string,
  count: number,
): Promise<void> {
  const { id: organizationId } = service.organization;
  await withClient(service.databaseUrl, async (client) => {
    await fillLifelikeRefunds(client, {
      organizationId,
      environment: 'test',
      count,
      now: new Date(),
      days: 90,
    });
    await client.query(
      `insert into refund_work (refund_id, organization_id, environment, processor, due_at)
       select id, organization_id, environment, processor, now() from refund where status <> 'pending'
       on conflict (refund_id) do update set due_at = now()`,
    );
    await client.query(
      `insert into webhook_delivery (id, endpoint_id, event_id, type, refund_id, position, status, next_attempt_at, created_at)
       select 'del_' || $1 || id, $1, id, type, refund_id, position, status::webhook_delivery_status,
         case when status = 'pending' then now() - interval '1 hour' end,
         case when status = 'pending' then now() - interval '1 hour' else created_at end
       from (select id, type, refund_id, position, created_at, case when created_at > now() - interval '88 days' then 'pending' else 'succeeded' end as status
         from refund_event where position is not null) as event on conflict do nothing`,
      [endpointId],
    );
    await client.query(
      `insert into processor_event (account_id, external_event_id, type, received_at)
       select account.id, 'evt_' || n, 'refund.updated', now() - n * interval '4.4 minutes'
       from generate_series(1, $2::int) as n, (select id from processor_account where organization_id = $1 limit 1) as account`,
      [organizationId, count],
    );
    await client.query('update webhook_cursor set position = (select max(position) from refund_event)');
  });
}
