import { query } from '../support/stores/database-client.ts';

// --preload fills both databases with completed refunds of a year, two of each payment. They are older than what
// reconciliation compares, because the sandbox does not know them. The statements follow prisma/schema.prisma. For speed
// they check no foreign keys.

/** Fills the naked pipeline's table. */
export async function preloadNaked(databaseUrl: string, count: number): Promise<void> {
  await load(
    databaseUrl,
    `insert into refund (id, organization_id, external_refund_id, transaction_id, amount, currency, reason, status, processor,
       initiated_by, created_at, updated_at)
     select ${id('ref')}, 'org_naked', 're_' || md5('refund' || n), ${payment}, 1, 'usd',
       'product_defective', 'completed', 'stripe', 'api', ${createdAt(count)}, ${createdAt(count)}
     from generate_series(1, ${count}) as n`,
  );
  await query(databaseUrl, 'vacuum analyze');
}

/** Fills an organization of the service, which has its accounts. */
export async function preloadService(
  databaseUrl: string,
  organizationId: string,
  count: number,
): Promise<void> {
  const owner = `'${organizationId}', 'test'::environment`;
  await load(
    databaseUrl,
    `insert into payment (organization_id, environment, processor, transaction_id, amount, currency, charged_at, reserved,
       fetched_at, created_at)
     select ${owner}, 'stripe', ${payment}, 10000, 'usd', ${createdAt(count)}, 2, ${createdAt(count)}, ${createdAt(count)}
     from generate_series(0, ${count}, 2) as n`,
  );
  await load(
    databaseUrl,
    `insert into refund (id, organization_id, environment, transaction_id, payment_id, processor, amount, currency, reason, status,
       initiated_by, external_refund_id, processor_status, accepted_at,
       created_at, updated_at, completed_at)
     select ${id('ref')}, ${owner}, ${payment}, ${payment}, 'stripe', 1, 'usd', 'product_defective', 'completed', 'api', 're_' || md5('refund' || n),
       'succeeded', at, at, at, at
     from generate_series(1, ${count}) as n, lateral (select ${createdAt(count)} as at) as time`,
  );
  await load(
    databaseUrl,
    `insert into refund_attempt (refund_id, number, idempotency_key_version, started_at, ended_at, outcome)
     select ${id('ref')}, 1, 1, at, at, 'accepted'
     from generate_series(1, ${count}) as n, lateral (select ${createdAt(count)} as at) as time`,
  );
  await load(
    databaseUrl,
    `insert into refund_event (id, refund_id, seq, type, actor, previous_status, status, detail, created_at,
       organization_id, environment, position, external_refund_id)
     select ${id('evt')} || seq, ${id('ref')}, seq, type, 'worker', previous::refund_status,
       status::refund_status, '{}', ${createdAt(count)}, case when is_public then '${organizationId}' end,
       case when is_public then 'test'::environment end, case when is_public then nextval('refund_event_position') end,
       case when status = 'completed' then 're_' || md5('refund' || n) end
     from generate_series(1, ${count}) as n cross join (values
       (1, 'refund.created', null, 'processing'), (2, 'attempt.started', null, 'processing'),
       (3, 'attempt.accepted', null, 'processing'), (4, 'refund.completed', 'processing', 'completed')
     ) as event (seq, type, previous, status), lateral (select is_public_event(type)) as shown (is_public)
     order by n, seq`,
  );
  await query(databaseUrl, 'vacuum analyze');
}

/** In the order of their creation, as TypeIDs are. */
const id = (prefix: string) => `'${prefix}_00' || lpad(n::text, 24, '0')`;

const payment = `'ch_' || substr(md5('payment' || n / 2), 1, 24)`;

/** Of refund n of the count; the last one is 35 days old. */
const createdAt = (count: number) =>
  `now() - interval '35 days' - (${count} - n) * interval '365 days' / ${count}`;

async function load(databaseUrl: string, insert: string): Promise<void> {
  await query(databaseUrl, `set session_replication_role = replica; ${insert}`);
}
