import { randomBytes } from 'node:crypto';
import { createPostgresBackend, Queue, Worker } from 'bullmq';
import Fastify from 'fastify';
import pg from 'pg';
import Stripe from 'stripe';
import { readChargeHeader } from './requests.ts';

// What the service is compared with: the same refund without any safety. One route, one SQL statement and one job to
// create it; one call of the processor and one SQL statement to carry it out; one SQL statement for a webhook of the processor.
// No API key is looked up, nothing is validated, verified, reserved, repeated or recorded, and a crash loses or doubles refunds.
// node --import tsx test/bench/naked.ts api|worker, with the settings that pipelines.ts passes.

const env = process.env as { DATABASE_URL: string; SANDBOX_URL: string; REDIS_URL?: string; PORT?: string };

/** As many as the service keeps, and the concurrency at which this pipeline is fastest. */
const poolSize = 10;
const concurrency = 50;

const pool = new pg.Pool({ connectionString: env.DATABASE_URL, max: poolSize });
const sandbox = new URL(env.SANDBOX_URL);
const stripe = new Stripe('sk_test_sandbox', {
  protocol: 'http',
  host: sandbox.hostname,
  port: Number(sandbox.port),
});

const queueName = 'naked';
const [connection, backend] =
  env.REDIS_URL === undefined
    ? [{ connectionString: env.DATABASE_URL, max: poolSize }, createPostgresBackend]
    : [{ url: env.REDIS_URL, maxRetriesPerRequest: null }, undefined];

interface RefundJob {
  id: string;
  charge: string;
  amount: number;
}

interface CreateBody {
  transactionId: string;
  amount: number;
  currency: string;
  reason: string;
  metadata?: object;
}

if (process.argv[2] === 'api') await startApi();
else startWorker();

async function startApi(): Promise<void> {
  const queue = new Queue<RefundJob>(queueName, { connection } as never, backend as never);
  const app = Fastify();

  app.post('/v1/refunds', async (request) => {
    const { transactionId, amount, currency, reason, metadata } = request.body as CreateBody;
    if (request.headers[readChargeHeader] !== undefined) await stripe.charges.retrieve(transactionId);
    const id = `ref_${randomBytes(12).toString('hex')}`;
    const values = [id, transactionId, amount, currency, reason, metadata ?? null];
    const { rows } = await pool.query({ name: 'create', text: insert, values });
    await queue.add('refund', { id, charge: transactionId, amount }, { removeOnComplete: true });
    return { data: publicRefund(rows[0]) };
  });

  app.get('/v1/refunds/:id', async (request) => {
    const { id } = request.params as { id: string };
    const { rows } = await pool.query({ name: 'get', text: `${select} where id = $1`, values: [id] });
    return { data: publicRefund(rows[0]) };
  });

  app.get('/v1/refunds', async (request) => {
    const { status = null, limit = 25 } = request.query as { status?: string; limit?: number };
    const statement =
      status === null
        ? { name: 'list', text: `${select} order by created_at desc limit $1`, values: [limit] }
        : {
            name: 'list by status',
            text: `${select} where status = $1 order by created_at desc limit $2`,
            values: [status, limit],
          };
    return { data: (await pool.query(statement)).rows.map(publicRefund) };
  });

  app.post('/webhooks/stripe', async (request) => {
    const event = request.body as { id: string };
    await pool.query({ name: 'receive', text: receive, values: [event.id, event] });
    return {};
  });

  app.get('/healthz', async () => ({}));
  await app.listen({ host: '127.0.0.1', port: Number(env.PORT) });
}

function startWorker(): void {
  new Worker<RefundJob>(
    queueName,
    async ({ data: { id, charge, amount } }) => {
      const refund = await stripe.refunds.create({ charge, amount, metadata: { refund_id: id } });
      await pool.query({ name: 'complete', text: update, values: [id, refund.id] });
    },
    { connection, concurrency } as never,
    backend as never,
  );
}

const insert = `insert into refund (id, organization_id, transaction_id, amount, currency, reason, status, processor,
    metadata, initiated_by, created_at, updated_at)
  values ($1, 'org_naked', $2, $3, $4, $5, 'processing', 'stripe', $6, 'api', now(), now())
  returning *`;

const update = `update refund set status = 'completed', external_refund_id = $2, updated_at = now() where id = $1`;

const receive = 'insert into processor_event (id, payload) values ($1, $2) on conflict do nothing';

const select = 'select * from refund';

function publicRefund(row: Record<string, unknown> | undefined) {
  if (row === undefined) throw new Error('There is no such refund.');
  return {
    id: row.id,
    organizationId: row.organization_id,
    externalRefundId: row.external_refund_id,
    transactionId: row.transaction_id,
    amount: row.amount,
    currency: row.currency,
    reason: row.reason,
    status: row.status,
    processor: row.processor,
    metadata: row.metadata,
    initiatedBy: row.initiated_by,
    createdAt: row.created_at,
    updatedAt: row.updated_at,
  };
}
