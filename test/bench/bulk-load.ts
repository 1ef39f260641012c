import { query } from '../support/stores/database-client.ts';
import { knownPaymentAmount, knownPayments } from './requests.ts';

// Fills the tables for scenarios, faster than the service could, without a check of foreign keys.

/** Fills the naked pipeline's table. */
export async function preloadNaked(databaseUrl: string, count: number): Promise<void> {
  if (count === 0) return;
  await load(
    databaseUrl,
    `insert into refund (id, organization_id, external_refund_id, transaction_id, amount, currency, reason, status, processor,
       initiated_by, created_at, updated_at)
     select ${id('ref')}, 'org_naked', ${externalId}, ${oldPayment('1 + n / 2')}, 1, 'usd',
       'product_defective', 'completed', 'stripe', 'api', ${withinYear('n', count)}, ${withinYear('n', count)}
     from generate_series(1, ${count}) as n`,
  );
  await query(databaseUrl, 'vacuum analyze');
}

/** Adds refunds of the known payments that are to be sent now, as requests leave them behind. */
export async function loadDueRefunds(
  databaseUrl: string,
  organizationId: string,
  count: number,
): Promise<void> {
  const payments = knownPayments.length;
  const owner = `'${organizationId}', 'test'::environment`;
  const eachPayment = `from generate_series(1, ${payments}) as payment`;
  const eachRefund = `from generate_series(1, ${count}) as n`;
  await load(
    databaseUrl,
    `insert into payment (id, organization_id, environment, processor, amount, currency, charged_at, reserved, fetched_at, created_at)
     select payment, ${owner}, 'stripe', ${knownPaymentAmount}, 'usd', now(), ${Math.ceil(count / payments)}, now(), now()
     ${eachPayment};
     select setval('payment_id_seq', ${payments});
     insert into payment_name (organization_id, environment, processor, name, payment_id)
     select ${owner}, 'stripe', 'ch_bench' || payment - 1, payment ${eachPayment};
     insert into refund (id, organization_id, environment, transaction_id, payment_id, processor, amount, currency, reason,
       initiated_by, requester, created_at, updated_at, status)
     select ${id('ref')}, ${owner}, 'ch_bench' || n % ${payments}, 1 + n % ${payments}, 'stripe', 1, 'usd', 'product_defective',
       'api', 'key:bench', now(), now(), 'processing' ${eachRefund};
     insert into refund_event (id, refund_id, seq, type, actor, status, detail, created_at, organization_id, environment, position)
     select ${id('evt')}, ${id('ref')}, 1, 'refund.created', 'worker', 'processing', '{}', now(), ${owner},
       nextval('refund_event_position') ${eachRefund};
     insert into refund_work (refund_id, organization_id, environment, processor, due_at)
     select ${id('ref')}, ${owner}, 'stripe', now() ${eachRefund};
     update webhook_cursor set position = (select max(position) from refund_event)`,
  );
}

/** In the order of their creation, as TypeIDs are. */
const id = (prefix: string) => `'${prefix}_00' || lpad(n::text, 24, '0')`;

const externalId = `'re_' || md5('refund' || n)`;

const oldPayment = (payment: string) => `'ch_' || substr(md5('payment' || ${payment}), 1, 24)`;

/** When refund n of the count was created; the last one is 35 days old. */
const withinYear = (n: string, count: number) =>
  `now() - interval '35 days' - (${count} - ${n}) * interval '365 days' / ${count}`;

async function load(databaseUrl: string, statements: string): Promise<void> {
  await query(databaseUrl, `set session_replication_role = replica; ${statements}`);
}
