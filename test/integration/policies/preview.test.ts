import { expect, onTestFinished, test } from 'vitest';
import { openDatabase } from '#shared/platform/database.ts';
import { policySchema } from '#shared/policies/policy.ts';
import { previewPolicies } from '#shared/policies/preview.ts';
import { useDatabase } from '../../support/stores/database.ts';
import { query } from '../../support/stores/database-client.ts';

const owner = { organizationId: 'org_1', environment: 'test' } as const;
const policies = [policySchema.parse({ name: 'Everything', priority: 1 })];
const databaseUrl = useDatabase();

/** Adds refunds of one payment, one per second. */
const addRefunds = (first: number, last: number) =>
  query(
    databaseUrl(),
    `insert into refund (id, organization_id, environment, transaction_id, payment_id, processor, amount, currency, reason,
       status, initiated_by, requester, external_refund_id, created_at, updated_at)
     select 'ref_' || n, 'org_1', 'test', 'ch_1', 1, 'stripe', 1, 'usd', 'other', 'completed', 'api', 'key:1', 're_' || n, at, at
     from generate_series(${first}, ${last}) as n, lateral (select now() + n * interval '1 second' as at) as moment`,
  );

test('a preview counts up to 100 refunds of a payment, and skips and counts those of one with more', async () => {
  const db = openDatabase(databaseUrl(), { poolSize: 1 });
  onTestFinished(() => db.$disconnect());
  await query(
    databaseUrl(),
    `insert into organization (id, name) values ('org_1', 'One');
     insert into processor_account (id, organization_id, environment, processor, encrypted_credentials, encryption_key_id, updated_at)
     values ('acc_1', 'org_1', 'test', 'stripe', '', 'none', now());
     insert into payment (id, organization_id, environment, processor, amount, currency, charged_at)
     values (1, 'org_1', 'test', 'stripe', 1000000, 'usd', now())`,
  );
  const preview = () => previewPolicies(db, owner, { current: policies, edited: policies });
  await addRefunds(1, 100);
  const { refunds, skipped } = await preview();
  expect(skipped).toBe(0);
  // The hundredth came after 99.
  expect(refunds[0]?.edited.maxAmount).toBe(999_901n);
  await addRefunds(101, 101);
  expect(await preview()).toEqual({ refunds: [], skipped: 25 });
});
