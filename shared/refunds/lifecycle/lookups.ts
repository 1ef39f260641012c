import type { PaymentKey } from '../../payments/payment.ts';
import type { StoredPayment } from '../../payments/read-payment.ts';
import type { Payment, Reads } from '../../platform/database.ts';
import type { Environment } from '../../platform/environment.ts';
import { fromRow, type RowJson } from '../../platform/rows.ts';
import { shareRead } from '../../platform/shared-statement.ts';
import { type Policy, policyFromRow, type StoredPolicy } from '../../policies/policy.ts';
import type { AccountName } from '../../processors/accounts/connections.ts';

/** An organization's setup of one environment. */
export interface SetUp {
  accounts: readonly AccountName[];
  policies: readonly Policy[];
}

/** What nearly every request reads. Nothing is cached; concurrent requests share a statement. */
export interface Lookups {
  setUp(owner: { organizationId: string; environment: Environment }): Promise<SetUp>;
  payment(key: PaymentKey): Promise<StoredPayment>;
}

export function openLookups(reads: Reads): Lookups {
  const setUps = shareRead((owners) => readSetUps(reads, owners));
  const payments = shareRead((keys) => readPayments(reads, keys));
  return {
    setUp: async ({ organizationId, environment }) =>
      (await setUps(JSON.stringify([organizationId, environment]))) ?? { accounts: [], policies: [] },
    async payment({ organizationId, environment, processor, transactionId }) {
      const stored = await payments(JSON.stringify([organizationId, environment, processor, transactionId]));
      if (stored === undefined) throw new Error('A payment is missing in the result');
      return stored;
    },
  };
}

async function readSetUps(reads: Reads, owners: readonly string[]): Promise<Map<string, SetUp>> {
  const named = owners.map((owner) => JSON.parse(owner) as [string, string]);
  const rows = await reads.query<{
    organization_id: string;
    environment: string;
    accounts: RowJson[] | null;
    policies: StoredPolicy[] | null;
  }>(
    `SELECT asked.organization_id, asked.environment,
       (SELECT jsonb_agg(to_jsonb(a) - '{encrypted_credentials,encryption_key_id,created_at}'::text[])
        FROM processor_account AS a
        WHERE a.organization_id = asked.organization_id AND a.environment = asked.environment) AS accounts,
       (SELECT jsonb_agg(jsonb_build_object('name', p.name, 'priority', p.priority, 'rules', p.rules))
        FROM policy AS p WHERE p.organization_id = asked.organization_id) AS policies
     FROM unnest($1::text[], $2::environment[]) AS asked(organization_id, environment)`,
    [named.map(([organizationId]) => organizationId), named.map(([, environment]) => environment)],
  );
  return new Map(
    rows.map((row) => [
      JSON.stringify([row.organization_id, row.environment]),
      {
        accounts: (row.accounts ?? []).map((account) => fromRow<AccountName>(account)),
        policies: (row.policies ?? []).map(policyFromRow),
      },
    ]),
  );
}

async function readPayments(reads: Reads, keys: readonly string[]): Promise<Map<string, StoredPayment>> {
  const named = keys.map((key) => JSON.parse(key) as [string, string, string, string]);
  const rows = await reads.query<StoredPaymentRow>(
    `SELECT service_time() AS now, asked.organization_id AS "organizationId", asked.environment, asked.processor,
       asked.transaction_id AS "transactionId", p.transaction_id IS NOT NULL AS "isStored", p.amount, p.currency,
       p.charged_at AS "chargedAt", p.refunded_outside AS "refundedOutside", p.reserved, p.fetched_at AS "fetchedAt",
       p.stale_since AS "staleSince", p.created_at AS "createdAt"
     FROM unnest($1::text[], $2::environment[], $3::text[], $4::text[])
       AS asked(organization_id, environment, processor, transaction_id)
     LEFT JOIN payment AS p ON p.organization_id = asked.organization_id AND p.environment = asked.environment
       AND p.processor = asked.processor AND p.transaction_id = asked.transaction_id`,
    [0, 1, 2, 3].map((column) => named.map((key) => key[column])),
  );
  return new Map(
    rows.map(({ now, isStored, ...payment }) => {
      const { organizationId, environment, processor, transactionId } = payment;
      const key = JSON.stringify([organizationId, environment, processor, transactionId]);
      return [key, { payment: isStored ? payment : null, now }];
    }),
  );
}

type StoredPaymentRow = Payment & { now: Date; isStored: boolean };
