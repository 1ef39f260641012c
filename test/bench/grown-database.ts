import { query, withClient } from '../support/stores/database-client.ts';

/** Sessions that load at the same time, and refunds that one of them loads at a time. */
const sessions = 4;
const most = 200_000;

/**
 * Fills the tables as two years of use leave them behind, faster than the service could: rows first, then their indexes. Most
 * refunds have completed; each has the timeline that leads to its status, and what is kept for 30 days is there for the last 30.
 * What is open belongs to other organizations and is due in a month, because the sandbox does not know it.
 * @param organizationId owns six refunds in ten, in `test`; 999 others own the rest, in `live`.
 */
export async function growDatabase(
  databaseUrl: string,
  organizationId: string,
  count: number,
): Promise<void> {
  await query(databaseUrl, `${stopIndexing}; ${others(organizationId)}`);
  // Both refunds of a payment are loaded together.
  const size = Math.min(most, Math.ceil(count / sessions / 5) * 5);
  const starts = Array.from({ length: Math.ceil(count / size) }, (_, index) => index * size);
  await inSessions(starts, async (start) => {
    const range = { organizationId, count, first: start + 1, last: Math.min(count, start + size) };
    await withClient(databaseUrl, async (client) => {
      await client.query(
        'set session_replication_role = replica; set synchronous_commit = off; set jit = off',
      );
      await client.query(`create temp table drawn as ${drawn(range)}`);
      for (const statement of fromDrawn) await client.query(statement);
    });
  });
  const position = (count + 1) * mostEvents;
  await query(
    databaseUrl,
    `select setval('payment_id_seq', ${count}); select setval('refund_event_position', ${position});
     update webhook_cursor set position = ${position}`,
  );
  await inSessions([...grownTables], (table) =>
    query(databaseUrl, `set maintenance_work_mem = '1GB'; reindex table ${table}`),
  );
  await query(databaseUrl, 'vacuum analyze');
}

/** Takes the items one by one in each session. */
async function inSessions<T>(items: T[], work: (item: T) => Promise<unknown>): Promise<void> {
  const takeTurns = async () => {
    for (let item = items.shift(); item !== undefined; item = items.shift()) await work(item);
  };
  await Promise.all(Array.from({ length: sessions }, takeTurns));
}

/** The largest first. */
const grownTables = [
  'refund_event',
  'refund',
  'payment_name',
  'payment',
  'audit_log',
  'webhook_delivery',
  'processor_event',
  'refund_work',
];

/** New rows get no entries in the indexes until REINDEX. */
const stopIndexing = `update pg_index set indisready = false, indisvalid = false
  where indrelid = any ('{${grownTables}}'::regclass[])`;

const others = (organizationId: string) => `
  insert into organization (id, name) select 'org_grown' || n, 'Grown ' || n from generate_series(1, 999) as n;
  insert into processor_account (id, organization_id, environment, processor, encrypted_credentials, encryption_key_id, updated_at)
  select 'acc_grown' || n || name, 'org_grown' || n, 'live', name, '', 'none', now()
  from generate_series(1, 999) as n, unnest(array['stripe', 'braintree']) as name;
  insert into api_key (id, organization_id, environment, hash, last_four, created_by)
  select 'key_grown' || n, 'org_grown' || n, 'live', sha256(n::text::bytea), '0000', 'cli:bench' from generate_series(1, 999) as n;
  insert into webhook_endpoint (id, organization_id, environment, url, events, status, encrypted_secret, encryption_key_id, created_at,
    updated_at)
  select 'we_' || id, id, case when id = '${organizationId}' then 'test' else 'live' end::environment, 'https://example.com/' || id,
    '{*}', 'disabled', '', 'none', now(), now() from organization`;

/** A number from 0 below the limit that only depends on the row and what it is for. */
const chance = (row: string, purpose: number, limit: number) =>
  `((hashint8extended(${row}::bigint, ${purpose}) & 9223372036854775807) % ${limit})`;

const mostEvents = 8;

interface Range {
  organizationId: string;
  count: number;
  first: number;
  last: number;
}

/** Refunds in the order of their creation, as TypeIDs are. The last two of each five are of one payment. */
const drawn = ({ organizationId, count, first, last }: Range) => `
  with numbered as (
    select n, n - n / 5 as payment, ${chance('n', 2, 1_000)} as fate, ${chance('n', 3, 100)} as source,
      now() - interval '10 minutes' - (${count} - n)::float8 / ${count} * interval '730 days' as created_at,
      n > ${count} * 0.998 as is_recent, md5('refund' || n) as digest
    from generate_series(${first}, ${last}) as n
  ), owned as (
    select *, ${chance('payment', 4, 10)} < 6 as is_main,
      'org_grown' || 1 + (998 * power(${chance('payment', 5, 10_000)} / 10000.0, 3))::int as other,
      case when ${chance('payment', 6, 10)} < 7 then 'stripe' else 'braintree' end as processor,
      case when ${chance('payment', 13, 10)} < 7 then 'usd' else 'eur' end as currency,
      (array[1900, 2450, 3900, 4999, 7900, 12900, 24900, 89000])[1 + ${chance('payment', 7, 8)}]::bigint as paid
    from numbered
  ), told as (
    select *,
      case
        when is_recent and not is_main then (array['settling', 'settling', 'settling', 'waiting', 'unknown'])[1 + n % 5]
        when is_recent and fate < 20 then 'waiting'
        when fate < 880 then 'done' when fate < 930 then 'declined' when fate < 950 then 'withdrawn'
        when fate < 970 then 'approved' when fate < 980 then 'retried' when fate < 985 then 'reversed' else 'done'
      end as story
    from owned
  )
  select n, payment, is_main, case when is_main then '${organizationId}' else other end as organization_id,
    case when is_main then 'test' else 'live' end::environment as environment, processor, paid, currency, digest, story,
    'ref_00' || lpad(n::text, 24, '0') as id, created_at, created_at + (2 + ${chance('n', 8, 90)}) * interval '1 minute' as ended_at,
    case when processor = 'stripe' then 'ch_3' else '' end || substr(md5('payment' || payment), 1, 24) as transaction_id,
    case story when 'waiting' then 'pending' when 'settling' then 'processing' when 'unknown' then 'processing'
      when 'declined' then 'failed' when 'reversed' then 'failed' when 'withdrawn' then 'cancelled' else 'completed'
      end::refund_status as status,
    case when story not in ('waiting', 'unknown', 'declined', 'withdrawn') then
      case when processor = 'stripe' then 're_3' else '' end || substr(digest, 1, 24) end as external_refund_id,
    case when processor = 'stripe' then 'succeeded' else 'settled' end as processor_status,
    case story when 'declined' then 'insufficient_funds' when 'reversed' then 'reversed' end as failure_code,
    case when source < 70 then 'api' when source < 95 then 'dashboard' else 'mcp' end::initiated_by as initiated_by,
    case when source between 70 and 94 then 'user:user_00' || lpad((source - 70)::text, 24, '0')
      when is_main then 'key:key_main' else 'key:key_' || substr(other, 5) end as requester
  from told`;

const isAccepted = `story in ('done', 'settling', 'approved', 'retried', 'reversed')`;

const attempt = (number: number, outcome: string) => `jsonb_build_object('attempt', jsonb_build_object(
  'number', ${number}::int, 'outcome', '${outcome}', 'startedAt', created_at + interval '1 second'))`;

/** Which events a refund has; those from 7 on have the processor's id. */
const timeline = `
  select 1 as place, 'refund.created' as type, requester as actor, null::refund_status as previous,
    case when story in ('waiting', 'approved') then 'pending' else 'processing' end::refund_status as becomes,
    '{}'::jsonb as detail, created_at as at
  union all select 2, 'refund.approval_required', requester, null, 'pending', '{"policy": "All"}', created_at
    where story in ('waiting', 'approved')
  union all select 3, 'refund.processing', 'user:grown', 'pending', 'processing', '{"approved": true}', created_at
    where story = 'approved'
  union all select 4, 'attempt.unavailable', 'worker', null, 'processing',
    '{"code": "rate_limited", "message": "Too many requests. Slow down."}' || ${attempt(1, 'unavailable')}, created_at
    where story in ('retried', 'unknown')
  union all select 5, 'attempt.accepted', 'worker', null, 'processing',
    jsonb_build_object('externalRefundId', external_refund_id) || ${attempt(1, 'accepted')}, created_at + interval '2 seconds'
    where ${isAccepted}
  union all select 6, 'settlement.progress', 'worker', null, 'processing', '{"processorStatus": "pending"}', ended_at
    where story in ('done', 'retried')
  union all select 6, 'cancel.requested', requester, null, 'processing', '{}', ended_at where story = 'withdrawn'
  union all select 7, 'refund.completed', 'worker', 'processing', 'completed',
    jsonb_build_object('processorStatus', processor_status), ended_at where ${isAccepted} and story <> 'settling'
  union all select 7, 'refund.cancelled', 'worker', 'processing', 'cancelled', '{}', ended_at where story = 'withdrawn'
  union all select 8, 'refund.failed', 'worker',
    case story when 'reversed' then 'completed' else 'processing' end::refund_status, 'failed',
    jsonb_build_object('code', failure_code, 'message', 'The processor rejected it.'), ended_at where status = 'failed'`;

const fromDrawn = [
  `insert into payment (id, organization_id, environment, processor, amount, currency, charged_at, reserved, fetched_at, created_at)
   select payment, min(organization_id), min(environment), min(processor), min(paid), min(currency), min(created_at) - interval '3 days',
     coalesce(sum(paid / 2) filter (where status not in ('failed', 'cancelled')), 0), min(created_at), min(created_at)
   from drawn group by payment order by payment`,
  `insert into payment_name (organization_id, environment, processor, name, payment_id)
   select distinct on (payment) organization_id, environment, processor, transaction_id, payment from drawn order by payment`,
  `insert into refund (id, organization_id, environment, transaction_id, payment_id, processor, amount, currency, reason,
     initiated_by, requester, api_key_id, idempotency_key, fingerprint, metadata, created_at, updated_at, status, external_refund_id,
     processor_status, accepted_at, completed_at, failure_code, failure_message)
   select id, organization_id, environment, transaction_id, payment, processor, paid / 2, currency,
     (enum_range(null::refund_reason))[1 + ${chance('n', 10, 6)}], initiated_by, requester,
     case when not is_main and initiated_by <> 'dashboard' then substr(requester, 5) end,
     case when initiated_by = 'api' then rtrim(encode(sha256(digest::bytea), 'base64'), '=') end,
     case when initiated_by = 'api' then sha256(digest::bytea) end,
     case when n % 3 > 0 then jsonb_build_object('order', 'A-' || n, 'channel',
       (array['shop', 'app', 'support'])[1 + ${chance('n', 12, 3)}]) end,
     created_at, case when story = 'waiting' then created_at else ended_at end, status, external_refund_id,
     case when status = 'completed' then processor_status when story = 'settling' then 'pending' end,
     case when ${isAccepted} then created_at + interval '2 seconds' end,
     case when status = 'completed' or story = 'reversed' then ended_at end,
     failure_code, case when failure_code is not null then 'The processor rejected it.' end
   from drawn order by n`,
  `insert into refund_work (refund_id, organization_id, environment, processor, due_at, attempt_number, unknown_since, flagged_at,
     flag_reason, flag_facts)
   select id, organization_id, environment, processor, case when story = 'settling' then now() + interval '30 days' end, 1,
     case when story = 'unknown' then created_at end, case when story = 'unknown' then ended_at end,
     case when story = 'unknown' then 'outcome_unknown' end, '{}'
   from drawn where story in ('settling', 'unknown')`,
  `insert into refund_event (id, refund_id, seq, type, actor, previous_status, status, detail, created_at, organization_id, environment,
     position, external_refund_id, failure_code, failure_message)
   select 'evt_0' || place || lpad(n::text, 24, '0'), id, seq, type, actor, previous, becomes, detail, at, case when is_public then organization_id end,
     case when is_public then environment end, case when is_public then n * ${mostEvents} + place end,
     case when is_public and place > 6 then external_refund_id end, case when place = 8 then failure_code end,
     case when place = 8 then 'The processor rejected it.' end
   from drawn cross join lateral (
     select *, row_number() over () as seq, starts_with(type, 'refund.') as is_public from (${timeline}) as step) as step`,
  `insert into webhook_delivery (id, endpoint_id, event_id, type, refund_id, position, status, attempts, created_at)
   select 'del_0' || place || lpad(n::text, 24, '0'), 'we_' || organization_id, 'evt_0' || place || lpad(n::text, 24, '0'), type, id,
     n * ${mostEvents} + place, 'succeeded',
     jsonb_build_array(jsonb_build_object('number', 1, 'startedAt', at, 'durationMs', 40, 'responseStatus', 200)), at
   from drawn cross join lateral (${timeline}) as step
   where created_at > now() - interval '30 days' and starts_with(type, 'refund.')`,
  `insert into processor_event (account_id, external_event_id, type, refund_id, external_refund_id, processor_status, received_at)
   select 'acc_' || substr(organization_id, 5) || processor, 'evt_3' || digest, 'refund.updated', id, external_refund_id,
     processor_status, ended_at
   from drawn where created_at > now() - interval '30 days' and external_refund_id is not null`,
  `insert into audit_log (id, organization_id, actor, action, target, detail, created_at)
   select 'aud_0' || step || lpad(n::text, 24, '0'), organization_id, requester, action, id, jsonb_build_object('environment', environment,
     'transactionId', transaction_id, 'amount', paid / 2, 'currency', currency), created_at
   from drawn cross join lateral (values
     (1, initiated_by = 'dashboard', 'refund.created'), (2, story = 'approved', 'refund.approved'),
     (2, story = 'withdrawn', 'refund.cancel_requested')) as act(step, applies, action)
   where applies`,
];
