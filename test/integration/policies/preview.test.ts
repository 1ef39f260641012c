import { beforeAll, describe, expect, test } from 'vitest';
import { policySchema } from '#shared/policies/policy.ts';
import { previewPolicies } from '#shared/policies/preview.ts';
import { fillRefunds } from '../../support/refunds/many-refunds.ts';
import { useDatabase } from '../../support/stores/database.ts';
import { query, withClient } from '../../support/stores/database-client.ts';
import { plansOf } from '../../support/stores/statements.ts';

const now = new Date('2026-11-21T12:00:00Z');
const owner = { organizationId: 'org_many', environment: 'test' } as const;
const policies = [policySchema.parse({ name: 'Everything', priority: 1 })];

const often = 'select max(id) as id from payment';

const databaseUrl = useDatabase();

/** Adds refunds to one payment, one per second and newer than all others. */
async function refundOften(count: number): Promise<void> {
  await query(
    databaseUrl(),
    `insert into refund (id, organization_id, environment, transaction_id, payment_id, processor, amount, currency, reason,
       status, initiated_by, requester, external_refund_id, created_at, updated_at)
     select 'ref_often' || (known.count + n), 'org_many', 'test', 'ch_often', payment.id, 'stripe', 1, 'usd', 'other', 'completed',
       'api', 'key:often', 're_often' || (known.count + n), at, at
     from (${often}) as payment, lateral (select count(*) from refund where payment_id = payment.id) as known, generate_series(1, ${count}) as n,
       lateral (select timestamptz '2026-11-21 13:00Z' + (known.count + n) * interval '1 second' as at) as moment`,
  );
}

beforeAll(async () => {
  await withClient(databaseUrl(), async (client) => {
    await fillRefunds(client, { ...owner, count: 6_000, now, days: 60 });
    await client.query(
      "update payment set amount = 1000000, currency = 'usd', charged_at = now() where organization_id = 'org_many'",
    );
    await client.query(
      `insert into payment (organization_id, environment, processor, amount, currency, charged_at)
       values ('org_many', 'test', 'stripe', 1000000, 'usd', now())`,
    );
    await client.query('vacuum analyze');
  });
});

const preview = async () => {
  let found: Awaited<ReturnType<typeof previewPolicies>> | undefined;
  const plans = await plansOf(databaseUrl(), async (db) => {
    found = await previewPolicies(db, owner, { current: policies, edited: policies });
  });
  if (found === undefined) throw new Error('There is no preview');
  return { ...found, plans };
};

describe('a preview', () => {
  test('reads only the columns that policies need, for a few refunds out of many', async () => {
    const { refunds, skipped, plans } = await preview();
    expect(refunds).toHaveLength(25);
    expect(skipped).toBe(0);
    const text = plans.map((plan) => plan.text).join('\n');
    expect(text).toContain('charged_at');
    expect(text).not.toMatch(/lease_token|failure_message|encrypted|fetched_at/);
    for (const { nodes, text: statement } of plans) {
      expect(nodes, statement).not.toContainEqual(expect.stringMatching(/Seq Scan on refund\b/));
    }
    expect(plans.reduce((sum, { pages }) => sum + pages, 0)).toBeLessThan(400);
  });

  test('counts up to 100 earlier refunds of a payment', async () => {
    await refundOften(100);
    const { refunds, skipped } = await preview();
    expect(skipped).toBe(0);
    // The hundredth came after 99.
    expect(refunds[0]?.edited.maxAmount).toBe(999_901n);
    expect(refunds[24]?.edited.maxAmount).toBe(999_925n);
  });

  test('skips and counts refunds of a payment with more than 100 refunds, and reads no more pages', async () => {
    await refundOften(5_000);
    await query(databaseUrl(), 'vacuum analyze');
    const { refunds, skipped, plans } = await preview();
    expect(refunds).toEqual([]);
    expect(skipped).toBe(25);
    expect(plans.reduce((sum, { pages }) => sum + pages, 0)).toBeLessThan(90);
  });
});
