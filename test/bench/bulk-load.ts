import { query } from '../support/stores/database-client.ts';
import { knownPaymentAmount, knownPayments } from './requests.ts';
import type { Scenario } from './scenarios.ts';

// Fills the tables for scenarios, faster than the service could. The statements follow prisma/schema.prisma and check no foreign
// keys. What is completed is of a year, two refunds of each payment, and older than what reconciliation compares, because the
// sandbox does not know it.

/** Fills the naked pipeline's table. */
export async function preloadNaked(databaseUrl: string, { preload: count, hasStatistics }: Scenario) {
  if (count === 0) return;
  await load(
    databaseUrl,
    `insert into refund (id, organization_id, external_refund_id, transaction_id, amount, currency, reason, status, processor,
       initiated_by, created_at, updated_at)
     select ${id('ref')}, 'org_naked', 're_' || md5('refund' || n), ${payment}, 1, 'usd',
       'product_defective', 'completed', 'stripe', 'api', ${createdAt(count)}, ${createdAt(count)}
     from generate_series(1, ${count}) as n`,
  );
  if (hasStatistics) await query(databaseUrl, 'vacuum analyze');
}

/** Fills an organization of the service, which has its accounts. */
export async function preloadService(
  databaseUrl: string,
  organizationId: string,
  { preload: count, hasStatistics }: Scenario,
): Promise<void> {
  if (count === 0) return;
  const owner = `'${organizationId}', 'test'::environment`;
  await load(
    databaseUrl,
    `insert into payment (id, organization_id, environment, processor, amount, currency, charged_at, reserved,
       fetched_at, created_at)
     select 1 + n / 2, ${owner}, 'stripe', 10000, 'usd', ${createdAt(count)}, 2, ${createdAt(count)}, ${createdAt(count)}
     from generate_series(0, ${count}, 2) as n;
     select setval('payment_id_seq', 1 + ${count})`,
  );
  await load(
    databaseUrl,
    `insert into payment_name (organization_id, environment, processor, name, payment_id)
     select ${owner}, 'stripe', ${payment}, 1 + n / 2 from generate_series(0, ${count}, 2) as n`,
  );
  await load(
    databaseUrl,
    `insert into refund (id, organization_id, environment, transaction_id, payment_id, processor, amount, currency, reason, status,
       initiated_by, requester, external_refund_id, processor_status, accepted_at,
       created_at, updated_at, completed_at)
     select ${id('ref')}, ${owner}, ${payment}, 1 + n / 2, 'stripe', 1, 'usd', 'product_defective', 'completed', 'api', 'key:bench', 're_' || md5('refund' || n),
       'succeeded', at, at, at, at
     from generate_series(1, ${count}) as n, lateral (select ${createdAt(count)} as at) as time`,
  );
  await load(
    databaseUrl,
    `insert into refund_event (id, refund_id, seq, type, actor, previous_status, status, detail, created_at,
       organization_id, environment, position, external_refund_id)
     select ${id('evt')} || seq, ${id('ref')}, seq, type, 'worker', previous::refund_status,
       status::refund_status, case when status = 'completed' then jsonb_build_object('attempt',
         jsonb_build_object('number', 1, 'outcome', 'accepted', 'startedAt', ${createdAt(count)})) else '{}' end, ${createdAt(count)}, case when is_public then '${organizationId}' end,
       case when is_public then 'test'::environment end, case when is_public then nextval('refund_event_position') end,
       case when status = 'completed' then 're_' || md5('refund' || n) end
     from generate_series(1, ${count}) as n cross join (values
       (1, 'refund.created', null, 'processing'), (2, 'refund.completed', 'processing', 'completed')
     ) as event (seq, type, previous, status), lateral (select is_public_event(type)) as shown (is_public)
     order by n, seq`,
  );
  await query(databaseUrl, markDelivered);
  if (hasStatistics) await query(databaseUrl, 'vacuum analyze');
}

/** Adds refunds of the known payments that are to be sent now, as requests leave them behind. */
export async function loadDueRefunds(databaseUrl: string, organizationId: string, count: number) {
  const owner = `'${organizationId}', 'test'::environment`;
  const payments = knownPayments.length;
  const [due, name] = ["'ref_01' || lpad(n::text, 24, '0')", `'ch_bench' || n % ${payments}`];
  await load(
    databaseUrl,
    `insert into payment (id, organization_id, environment, processor, amount, currency, charged_at, reserved, fetched_at, created_at)
     select 1 + n, ${owner}, 'stripe', ${knownPaymentAmount}, 'usd', now(), ${count / payments}, now(), now()
     from generate_series(0, ${payments - 1}) as n;
     select setval('payment_id_seq', ${payments});
     insert into payment_name (organization_id, environment, processor, name, payment_id)
     select ${owner}, 'stripe', ${name}, 1 + n from generate_series(0, ${payments - 1}) as n;
     insert into refund (id, organization_id, environment, transaction_id, payment_id, processor, amount, currency, reason, status,
       initiated_by, requester, created_at, updated_at)
     select ${due}, ${owner}, ${name}, 1 + n % ${payments}, 'stripe', 1, 'usd', 'product_defective', 'processing', 'api', 'key:bench', now(), now()
     from generate_series(1, ${count}) as n;
     insert into refund_work (refund_id, organization_id, environment, processor, due_at)
     select ${due}, ${owner}, 'stripe', now() from generate_series(1, ${count}) as n;
     insert into refund_event (id, refund_id, seq, type, actor, status, detail, created_at, organization_id, environment, position)
     select 'evt_01' || lpad(n::text, 24, '0'), ${due}, 1, 'refund.created', 'bench', 'processing', '{}', now(), ${owner},
       nextval('refund_event_position')
     from generate_series(1, ${count}) as n order by n;
     ${markDelivered}`,
  );
}

/** The endpoint gets what follows. */
const markDelivered = 'update webhook_cursor set position = (select max(position) from refund_event)';

/** In the order of their creation, as TypeIDs are. */
const id = (prefix: string) => `'${prefix}_00' || lpad(n::text, 24, '0')`;

const payment = `'ch_' || substr(md5('payment' || n / 2), 1, 24)`;

/** Of refund n of the count; the last one is 35 days old. */
const createdAt = (count: number) =>
  `now() - interval '35 days' - (${count} - n) * interval '365 days' / ${count}`;

async function load(databaseUrl: string, insert: string): Promise<void> {
  await query(databaseUrl, `set session_replication_role = replica; ${insert}`);
}
