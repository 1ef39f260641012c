import type pg from 'pg';
import type { RefundOwner } from '#shared/refunds/model/refund.ts';

interface FilledRefunds extends RefundOwner {
  count: number;
  /** The latest that one of them was created. */
  now: Date;
  /** Over how many days before that they were created. */
  days: number;
  /** What lies between two times of creation; 6 hours by default, so that several have the same. */
  createdEvery?: string;
}

/**
 * Fills an organization, which is made if need be, with refunds that a person would take for real ones: payments that were read, every
 * status with the timeline that leads to it, retries, lost answers, approvals, flags. What is open was created lately. The same call makes
 * the same refunds. Once per environment only.
 */
export async function fillRefunds(client: pg.Client, refunds: FilledRefunds): Promise<void> {
  const { organizationId, environment, count, now, days, createdEvery = '6 hours' } = refunds;
  await client.query(`insert into organization (id, name) values ($1, 'Many') on conflict do nothing`, [
    organizationId,
  ]);
  await client.query(insertAccounts, [organizationId, environment, now]);
  await client.query('begin');
  await client.query(
    `create temp table drawn (like refund including defaults including generated, n int, story text, decider text,
       took interval, paid bigint, attempt_count int, due_at timestamptz,
       unknown_since timestamptz, flagged_at timestamptz, flag_reason text, flag_facts jsonb) on commit drop`,
  );
  await client.query(drawRefunds, [organizationId, environment, count, now, days, createdEvery]);
  await client.query(insertPayments);
  await client.query(`select setval('payment_id_seq', max(id)) from payment`);
  await client.query(insertNames);
  await client.query(
    `insert into refund (${columns}, requester) select ${columns}, requester_of(requester) from drawn`,
  );
  await client.query(insertWork);
  await client.query(insertTimelines);
  await client.query('commit');
}

/** A number from 0 below the limit that only depends on the row and what it is for. */
function chance(row: string, purpose: number, limit: number): string {
  return `((hashint4extended(${row}::int, ${purpose}) & 9223372036854775807) % ${limit})`;
}

const columns = `id, account_id, organization_id, environment, transaction_id, payment_id, processor, amount, currency, reason, status,
  initiated_by, api_key_id, external_refund_id, failure_code, failure_message, metadata, processor_status, accepted_at,
  created_at, updated_at, completed_at`;

/** What the other tables of a refund are made from. */
const drawnColumns = `${columns}, attempt_count, due_at, unknown_since, flagged_at, flag_reason, flag_facts`;

const failures = `(values
  (0, 'insufficient_funds', 'Your account does not have enough available funds to cover this refund.'),
  (1, 'expired_or_canceled_card', 'The card that was charged has expired or was cancelled.'),
  (2, 'already_refunded', 'The charge has been refunded in full already.'),
  (3, 'charge_for_pending_refund_disputed', 'The customer has disputed the charge.'),
  (4, 'processor_unavailable', 'It could not be sent within three days.')
) as failure(number, code, message)`;

const transactionId = `case processor when 'stripe' then 'ch_3' || payment_digest else substr(payment_digest, 1, 12) end`;

const drawRefunds = `
  with numbered as (
    select n, ${chance('n', 2, 1_000)} as fate, ${chance('n', 3, 100)} as door, n <= greatest(10, $3::int / 50) as is_recent,
      case when n % 9 = 0 then n - 1 else n end as payment,
      ($5::float8 * 0.98 * power(n / $3::float8, 1.1) + $5::float8 * ${chance('n', 4, 1_000)} / 100000)
        * interval '1 day' as age
    from generate_series(1, $3::int) as n
  ), told as (
    select *, md5($1 || $2 || n) as digest, md5($1 || $2 || 'payment' || payment) as payment_digest,
      case when ${chance('payment', 5, 10)} < 7 then 'stripe' else 'braintree' end as processor,
      case when ${chance('payment', 6, 10)} < 7 then 'usd' else 'eur' end as currency,
      (array[1900, 2450, 3900, 4999, 7900, 12900, 24900, 89000])[1 + ${chance('payment', 7, 8)}]::bigint as paid,
      (case when door < 62 then 'api' when door < 88 then 'dashboard' else 'mcp' end)::initiated_by as initiated_by,
      case
        when is_recent then (array['settling', 'waiting', 'settling', 'done', 'unknown'])[1 + n % 5]
        when fate < 700 then 'done' when fate < 750 then 'retried' when fate < 780 then 'lost'
        when fate < 830 then 'approved' when fate < 900 then 'declined' when fate < 915 then 'reversed'
        when fate < 945 then 'withdrawn' when fate < 970 then 'rejected' when fate < 975 then 'extra' else 'done'
      end as story
    from numbered
  ), timed as (
    select *, date_bin($6::interval, $4::timestamptz - age, timestamptz 'epoch') as created_at,
      least(age * 0.9, case processor when 'stripe' then (2 + ${chance('n', 8, 90)}) * interval '1 minute'
        else (4 + ${chance('n', 8, 40)}) * interval '1 hour' end) as took,
      (case story when 'waiting' then 'pending' when 'settling' then 'processing' when 'unknown' then 'processing'
        when 'declined' then 'failed' when 'reversed' then 'failed' when 'withdrawn' then 'cancelled'
        when 'rejected' then 'cancelled' else 'completed' end)::refund_status as status,
      (select id from processor_account as account where account.organization_id = $1 and account.environment = $2::environment
        and account.processor = told.processor and account.is_default) as account_id,
      (select id from api_key where organization_id = $1 and environment = $2::environment order by id limit 1) as key_id,
      (select 'user:' || user_id from membership where organization_id = $1 order by user_id limit 1) as person
    from told
  )
  insert into drawn (${drawnColumns}, n, story, requester, decider, took, paid)
  select 'ref_01' || substr(digest, 1, 24), account_id, $1, $2::environment,
    ${transactionId}, last_payment_id + payment, processor,
    case when payment % 9 = 8 then paid / 3 when ${chance('n', 9, 3)} = 0 then paid / 2 else paid end,
    currency, (enum_range(null::refund_reason))[1 + ${chance('n', 10, 6)}], status, initiated_by,
    case when initiated_by <> 'dashboard' then key_id end,
    case when status = 'completed' or story in ('settling', 'reversed')
      then case processor when 'stripe' then 're_3' || digest else substr(digest, 1, 12) end end,
    case story when 'declined' then failure.code when 'reversed' then 'reversed' end,
    case story when 'declined' then failure.message when 'reversed' then 'The bank of the customer sent the money back.' end,
    case when n % 3 > 0 then jsonb_build_object('order', 'A-' || 20000 + n, 'channel',
      (array['shop', 'app', 'support'])[1 + ${chance('n', 12, 3)}]) end,
    case when status = 'completed' then case processor when 'stripe' then 'succeeded' else 'settled' end
      when story = 'settling' then case processor when 'stripe' then 'pending' else 'submitted_for_settlement' end end,
    case when story not in ('waiting', 'rejected', 'unknown', 'declined') then created_at + interval '2 seconds' end,
    created_at, case when story = 'waiting' then created_at else created_at + took end,
    case when status = 'completed' or story = 'reversed' then created_at + took end,
    case when story in ('waiting', 'rejected') then 0 when story in ('retried', 'lost') then 2 else 1 end,
    case when status = 'processing' then $4::timestamptz + interval '12 hours' end,
    case when story = 'unknown' then created_at + interval '4 seconds' end,
    case when story in ('unknown', 'extra') then created_at + took end,
    case story when 'unknown' then 'outcome_unknown' when 'extra' then 'extra_refund' end,
    case story when 'unknown' then jsonb_build_object('message', 'No answer within 10 seconds.')
      when 'extra' then jsonb_build_object('externalRefundId', 're_3' || md5(digest), 'processorStatus', 'succeeded',
        'amount', paid / 2, 'currency', currency) end,
    n, story, case initiated_by when 'dashboard' then coalesce(person, 'cli:seed')
      else coalesce('key:' || key_id, 'cli:seed') end,
    coalesce(person, 'cli:seed'), took, paid
  from timed cross join (select coalesce(max(id), 0) as last_payment_id from payment) as stored join ${failures} on failure.number = ${chance('n', 11, 5)}`;

const insertAccounts = `
  insert into processor_account
    (id, organization_id, environment, processor, name, is_default, encrypted_credentials, encryption_key_id, updated_at)
  select 'acc_' || md5($1 || $2 || name), $1, $2::environment, name, name, true, '', 'none', $3
  from unnest(array['stripe', 'braintree']) as name on conflict do nothing`;

const insertPayments = `
  insert into payment (id, account_id, organization_id, environment, amount, currency, charged_at, fetched_at, created_at)
  select payment_id, account_id, organization_id, environment, min(paid), min(currency),
    min(created_at) - interval '3 days', min(created_at), min(created_at)
  from drawn
  group by payment_id, account_id, organization_id, environment`;

const insertNames = `
  insert into payment_name (account_id, organization_id, environment, name, payment_id)
  select distinct account_id, organization_id, environment, transaction_id, payment_id from drawn`;

const insertWork = `
  insert into refund_work (refund_id, account_id, organization_id, environment, processor, due_at, attempt_number, unknown_since,
    flagged_at, flag_reason, flag_facts)
  select id, account_id, organization_id, environment, processor, due_at, attempt_count, unknown_since, flagged_at, flag_reason,
    coalesce(flag_facts, '{}')
  from drawn where due_at is not null or flagged_at is not null`;

/** An attempt in the detail of the event that ended it. */
function attempt(number: string, outcome: string): string {
  return `jsonb_build_object('attempt', jsonb_build_object('number', ${number}, 'outcome', '${outcome}',
    'startedAt', created_at + took * (0.2 + ${number} * 0.1)))`;
}

/** Each line: whose story it belongs to, what happens, who does it, from which status to which, with which detail, and when. */
const steps = `(values
  (1, true, 'refund.created', requester, null,
    case when story in ('waiting', 'approved', 'rejected') then 'pending' else 'processing' end,
    case when story in ('waiting', 'approved', 'rejected') then jsonb_build_object('policy', 'Everything else', 'approval',
      jsonb_build_array(jsonb_build_object('of', 'payment', 'above', 0, 'total', amount))) else '{}' end, interval '0'),
  (2, story in ('waiting', 'approved', 'rejected'), 'refund.approval_required', requester, null, 'pending', '{}', interval '0'),
  (3, story = 'approved', 'refund.processing', decider, 'pending', 'processing', '{"approved": true}', took * 0.3),
  (4, story = 'rejected', 'refund.cancelled', decider, 'pending', 'cancelled',
    '{"approved": false, "sent": false, "reason": "The parcel has arrived after all."}', took),
  (6, story = 'retried', 'attempt.unavailable', 'worker', null, 'processing',
    '{"code": "rate_limited", "message": "Too many requests. Slow down."}' || ${attempt('1', 'unavailable')}, took * 0.32),
  (7, story in ('lost', 'unknown'), 'attempt.unknown', 'worker', null, 'processing',
    '{"code": "timeout", "message": "No answer within 10 seconds."}' || ${attempt('1', 'unknown')}, took * 0.32),
  (8, story = 'unknown', 'lookup.unanswered', 'worker', null, 'processing',
    '{"code": "timeout", "message": "No answer within 10 seconds."}', took),
  (9, story = 'lost', 'lookup.absent', 'worker', null, 'processing', '{}', took * 0.4),
  (11, accepted_at is not null, 'attempt.accepted', 'worker', null, 'processing',
    jsonb_build_object('externalRefundId', external_refund_id) || ${attempt('attempt_count', 'accepted')}, took * 0.42),
  (12, story = 'withdrawn', 'cancel.requested', requester, null, 'processing', '{}', took * 0.7),
  (13, story = 'withdrawn', 'refund.cancelled', 'worker', 'processing', 'cancelled', '{}', took),
  (14, completed_at is not null, 'refund.completed', 'worker', 'processing', 'completed',
    jsonb_build_object('processorStatus', processor_status), took),
  (15, story = 'extra', 'reconciliation.flagged', 'worker', null, 'completed',
    jsonb_build_object('flag', jsonb_build_object('reason', flag_reason, 'facts', flag_facts)), took),
  (16, status = 'failed', 'refund.failed', 'worker', case story when 'reversed' then 'completed' else 'processing' end,
    'failed', jsonb_build_object('code', failure_code, 'message', failure_message)
      || case when story = 'declined' then ${attempt('1', 'rejected')} else '{}' end, took)
) as step(place, applies, type, actor, previous, becomes, detail, after)`;

const insertTimelines = `
  insert into refund_event (id, refund_id, seq, type, actor, previous_status, status, detail, created_at, organization_id,
    environment, position, external_refund_id, failure_code, failure_message)
  select 'evt_01' || substr(md5(drawn.id || place), 1, 24), drawn.id, row_number() over (partition by drawn.id order by place),
    type, actor, previous::refund_status, becomes::refund_status, detail, created_at + after,
    case when is_public_event(type) then organization_id end, case when is_public_event(type) then environment end,
    case when is_public_event(type) then nextval('refund_event_position') end,
    case when becomes <> 'processing' and is_public_event(type) then external_refund_id end,
    case when type = 'refund.failed' then failure_code end, case when type = 'refund.failed' then failure_message end
  from drawn cross join lateral ${steps} where applies`;
