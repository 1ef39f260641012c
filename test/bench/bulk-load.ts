import { query } from '../support/stores/database-client.ts';
import { knownPaymentAmount, knownPayments } from './requests.ts';

// Fills the tables for scenarios, faster than the service could. The statements follow prisma/schema.prisma and check no foreign
// keys. What is completed is of a year, two refunds of each payment, and older than what reconciliation compares, because the
// sandbox does not know it.

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

/** Fills an organization of the service, which has its accounts. */
export async function preloadService(
  databaseUrl: string,
  organizationId: string,
  count: number,
): Promise<void> {
  if (count === 0) return;
  await loadRefunds(databaseUrl, organizationId, {
    count,
    payments: { count: 1 + count / 2, of: '1 + n / 2', name: oldPayment, amount: 10_000 },
    createdAt: (n) => withinYear(n, count),
    isCompleted: true,
  });
  await query(databaseUrl, 'vacuum analyze');
}

/** Adds refunds of the known payments that are to be sent now, as requests leave them behind. */
export async function loadDueRefunds(
  databaseUrl: string,
  organizationId: string,
  count: number,
): Promise<void> {
  const payments = knownPayments.length;
  await loadRefunds(databaseUrl, organizationId, {
    count,
    payments: {
      ...{ count: payments, of: `1 + n % ${payments}`, amount: knownPaymentAmount },
      name: (payment) => `'ch_bench' || ${payment} - 1`,
    },
    createdAt: () => 'now()',
    isCompleted: false,
  });
}

interface BulkRefunds {
  count: number;
  payments: {
    count: number;
    amount: number;
    /** SQL of the number of refund n's payment, and of the name of a payment. */
    of: string;
    name: (payment: string) => string;
  };
  createdAt: (refund: string) => string;
  /** Otherwise they are due. */
  isCompleted: boolean;
}

async function loadRefunds(databaseUrl: string, organizationId: string, refunds: BulkRefunds): Promise<void> {
  const { count, payments, createdAt, isCompleted } = refunds;
  const owner = `'${organizationId}', 'test'::environment`;
  const eachPayment = `from generate_series(1, ${payments.count}) as payment`;
  const eachRefund = `from generate_series(1, ${count}) as n`;
  const outcome = isCompleted
    ? `'completed', ${externalId}, 'succeeded', at, at`
    : "'processing', null, null, null, null";
  const completion = isCompleted ? ", (2, 'refund.completed', 'processing', 'completed')" : '';
  const work = `insert into refund_work (refund_id, organization_id, environment, processor, due_at)
    select ${id('ref')}, ${owner}, 'stripe', now() ${eachRefund};`;
  await load(
    databaseUrl,
    `insert into payment (id, organization_id, environment, processor, amount, currency, charged_at, reserved, fetched_at, created_at)
     select payment, ${owner}, 'stripe', ${payments.amount}, 'usd', at, ${Math.ceil(count / payments.count)}, at, at
     ${eachPayment}, lateral (select ${createdAt('2 * payment')} as at) as time;
     select setval('payment_id_seq', ${payments.count});
     insert into payment_name (organization_id, environment, processor, name, payment_id)
     select ${owner}, 'stripe', ${payments.name('payment')}, payment ${eachPayment};
     insert into refund (id, organization_id, environment, transaction_id, payment_id, processor, amount, currency, reason,
       initiated_by, requester, created_at, updated_at, status, external_refund_id, processor_status, accepted_at, completed_at)
     select ${id('ref')}, ${owner}, ${payments.name(`(${payments.of})`)}, ${payments.of}, 'stripe', 1, 'usd', 'product_defective',
       'api', 'key:bench', at, at, ${outcome}
     ${eachRefund}, lateral (select ${createdAt('n')} as at) as time;
     insert into refund_event (id, refund_id, seq, type, actor, previous_status, status, detail, created_at,
       organization_id, environment, position, external_refund_id)
     select ${id('evt')} || seq, ${id('ref')}, seq, type, 'worker', previous::refund_status, status::refund_status,
       case when seq = 2 then jsonb_build_object('attempt', jsonb_build_object('number', 1, 'outcome', 'accepted', 'startedAt', at))
         else '{}' end, at, ${owner}, nextval('refund_event_position'), case when seq = 2 then ${externalId} end
     ${eachRefund} cross join (values (1, 'refund.created', null, 'processing')${completion}) as event (seq, type, previous, status),
       lateral (select ${createdAt('n')} as at) as time
     order by n, seq;
     ${isCompleted ? '' : work}
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
