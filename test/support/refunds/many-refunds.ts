import type pg from 'pg';
import type { RefundOwner } from '#shared/refunds/model/refund.ts';

export interface ManyRefunds extends RefundOwner {
  count: number;
  /** The latest that one of them was created. */
  now: Date;
  /** Over how many days before that they were created. */
  days: number;
}

/**
 * Fills an organization with refunds as years of use would leave them behind, in one statement per table: every status,
 * reason and door, some flagged, several created in the same millisecond, two refunds per payment. The same call makes the
 * same refunds. To be repeated with other environments, and once per environment only.
 */
export async function fillRefunds(client: pg.Client, refunds: ManyRefunds): Promise<void> {
  const { organizationId, environment, count, now, days } = refunds;
  await client.query(`insert into organization (id, name) values ($1, 'Many') on conflict do nothing`, [
    organizationId,
  ]);
  await client.query(
    `insert into processor_account
       (id, organization_id, environment, processor, encrypted_credentials, encryption_key_id, updated_at)
     select 'acc_' || md5($1 || $2 || name), $1, $2::environment, name, '', 'none', $3
     from unnest(array['stripe', 'braintree']) as name`,
    [organizationId, environment, now],
  );
  await client.query(
    `with made as (
       select nextval('payment_id_seq') as id, ${processorOf('payment')} as processor, ${transactionOf('payment')} as name
       from generate_series(0, $3::int / 2) as payment
     ), stored as (
       insert into payment (id, organization_id, environment, processor) select id, $1, $2::environment, processor from made
     )
     insert into payment_name (organization_id, environment, processor, name, payment_id)
     select $1, $2::environment, processor, name, id from made`,
    [organizationId, environment, count],
  );
  await client.query(insertRefunds, [organizationId, environment, count, now, days * 86_400_000]);
  await client.query(insertWork, [organizationId, environment]);
}

/** A number from 0 below the limit that only depends on the row and what it is for. */
export function chance(row: string, purpose: number, limit: number): string {
  return `((hashint4extended(${row}::int, ${purpose}) & 9223372036854775807) % ${limit})`;
}

function processorOf(payment: string): string {
  return `case when ${chance(payment, 1, 10)} < 7 then 'stripe' else 'braintree' end`;
}

function transactionOf(payment: string): string {
  return `'ch_' || md5($1 || $2 || ${payment})`;
}

const insertRefunds = `
  with drawn as (
    select n, n / 2 as payment, ${chance('n', 2, 100)} as fate, ${chance('n', 3, 1_000)} as door,
      $4::timestamptz - ${chance('n', 4, 1_000_000_000)} % greatest($3::int / 2, 1)
        * ($5::float8 / greatest($3::int / 2, 1)) * interval '1 millisecond' as created_at
    from generate_series(1, $3::int) as n
  ), decided as (
    select drawn.*, payment_id, (case when fate < 80 then 'completed' when fate < 88 then 'failed' when fate < 92 then 'cancelled'
      when fate < 98 then 'processing' else 'pending' end)::refund_status as status
    from drawn join payment_name on organization_id = $1 and environment = $2::environment
      and processor = ${processorOf('payment')} and name = ${transactionOf('payment')}
  )
  insert into refund (id, organization_id, environment, transaction_id, payment_id, processor, amount, currency, reason, status,
    initiated_by, requester, external_refund_id, failure_code, failure_message, metadata,
    created_at, updated_at, completed_at)
  select 'ref_' || md5($1 || $2 || n), $1, $2::environment, ${transactionOf('payment')}, payment_id, ${processorOf('payment')},
    1 + ${chance('n', 5, 20_000)}, (array['usd', 'usd', 'usd', 'eur', 'jpy', 'kwd'])[1 + ${chance('n', 6, 6)}],
    (enum_range(null::refund_reason))[1 + ${chance('n', 7, 6)}], status,
    (case when door < 900 then 'api' when door < 999 then 'dashboard' else 'mcp' end)::initiated_by, 'key:key_' || n % 5,
    case when status = 'completed' then 're_' || md5($1 || $2 || n) end,
    case when status = 'failed' then (array['card_declined', 'expired', 'insufficient_funds'])[1 + ${chance('n', 8, 3)}] end,
    case when status = 'failed' then 'The processor said no.' end,
    case when n % 3 = 0 then jsonb_build_object('order', n, 'channel', 'web') end,
    created_at, created_at + interval '2 hours',
    case when status = 'completed' then created_at + ${chance('n', 10, 3_600_000)} * interval '1 millisecond' end
  from decided order by created_at, n`;

/** What is processing is due, and one refund in fifty is flagged, whatever became of it. */
const insertWork = `
  with drawn as (
    select *, hashtextextended(id, 9) % 50 = 0 as is_flagged from refund
    where organization_id = $1 and environment = $2::environment
  )
  insert into refund_work (refund_id, organization_id, environment, processor, due_at, flagged_at, flag_reason)
  select id, organization_id, environment, processor, case when status = 'processing' then created_at end,
    case when is_flagged then created_at + interval '1 hour' end,
    case when is_flagged then 'outcome_unknown' end
  from drawn where status = 'processing' or is_flagged`;
