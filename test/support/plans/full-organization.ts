import { fillRefunds } from '../refunds/fill-refunds.ts';
import type { TestService } from '../service.ts';
import { withClient } from '../stores/database-client.ts';

/** As a dump restores the tables before version 18: nothing is known of them. The migration has analyzed them. */
export async function forgetStatistics(databaseUrl: string): Promise<void> {
  await withClient(databaseUrl, async (client) => {
    const tables = `select oid from pg_class where relnamespace = 'public'::regnamespace and relkind = 'r'`;
    await client.query(`delete from pg_statistic where starelid in (${tables})`);
    await client.query(`update pg_class set reltuples = -1, relpages = 0 where oid in (${tables})`);
  });
}

/**
 * Fills the service's organization with refunds that are due unless they await approval, a delivery to an endpoint for each public
 * event, and events of a processor. Of deliveries and of these events, retention deletes a part that one statement takes.
 * There are many other organizations beside it.
 */
export async function fillOrganization(
  service: TestService,
  endpointId: string,
  count: number,
): Promise<void> {
  const { id: organizationId } = service.organization;
  await withClient(service.databaseUrl, async (client) => {
    await fillRefunds(client, {
      organizationId,
      environment: 'test',
      count,
      now: new Date(),
      days: 90,
      createdEvery: '1 millisecond',
    });
    await client.query(
      `insert into refund_work (refund_id, account_id, organization_id, environment, processor, due_at)
       select id, account_id, organization_id, environment, processor, now() from refund where status <> 'pending'
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
    await client.query(otherOrganizations(otherCount));
    await client.query('update webhook_cursor set position = (select max(position) from refund_event)');
  });
}

/** How many organizations there are beside the service's. */
export const otherCount = 3_000;

/** Each with a member, an API key, an account and an endpoint. */
function otherOrganizations(count: number): string {
  return `
    with n as (select lpad(n::text, 8, '0') as n from generate_series(1, ${count}) as n),
    organizations as (insert into organization (id, name) select 'org_other' || n, 'Other' from n),
    users as (insert into "user" (id, email, password_hash) select 'usr_other' || n, n || '@other.example', '' from n),
    memberships as (insert into membership (organization_id, user_id, role) select 'org_other' || n, 'usr_other' || n, 'owner' from n),
    keys as (insert into api_key (id, organization_id, environment, name, scopes, hash, last_four, created_by, created_at)
      select 'key_other' || n, 'org_other' || n, 'test', '', '{}', sha256(n::bytea), 'abcd', 'test', now() - interval '30 days' from n),
    accounts as (insert into processor_account
      (id, organization_id, environment, processor, name, is_default, encrypted_credentials, encryption_key_id, updated_at)
      select 'acc_other' || n, 'org_other' || n, 'test', 'stripe', 'stripe', true, '', '', now() from n)
    insert into webhook_endpoint (id, organization_id, environment, url, events, encrypted_secret, encryption_key_id, created_at, updated_at)
    select 'we_other' || n, 'org_other' || n, 'test', 'http://127.0.0.1:1/', '{*}', '', '', now(), now() from n`;
}
