import type { PaymentKey, StoredPayment } from '../../payments/payment.ts';
import { shareByOrganization, shareRead } from '../../platform/concurrency/shared-statement.ts';
import { type Database, type Payment, Prisma, type Reads } from '../../platform/database.ts';
import type { Environment } from '../../platform/environment.ts';
import { type Policy, policyFromRow, type StoredPolicy } from '../../policies/policy.ts';
import type {
  AccountQuestion,
  AccountsSetUp,
  RecordedAccount,
} from '../../processors/accounts/choose-account.ts';
import { accountFrom, type RowJson } from '../model/rows.ts';

/** An organization's setup of one environment. */
interface SetUp extends AccountsSetUp {
  policies: readonly Policy[];
}

/** What nearly every request reads. Nothing is cached; concurrent requests share a statement. */
export interface Lookups {
  setUp(owner: { organizationId: string; environment: Environment }): Promise<SetUp>;
  /**
   * The payment under any of its ids.
   * @param ofKey the key whose refunds are summed up as well.
   */
  payment(key: PaymentKey, ofKey?: CountedKey | null): Promise<StoredPayment & KeySum>;
  /** The accounts of an owner that a payment with this id is on record of. */
  accountsOf(payment: AccountQuestion): Promise<readonly RecordedAccount[]>;
}

/** An API key whose refunds of the last 24 hours are summed up, in a currency. */
export interface CountedKey {
  apiKeyId: string;
  currency: string;
}

/** What a key has refunded. */
export interface KeySum {
  /** The sum of the key's refunds that have neither failed nor been cancelled, in minor units; 0n without a key. */
  takenByKeyInLastDay: bigint;
}

export function openLookups(reads: Reads): Lookups {
  const setUps = shareRead((owners) => readSetUps(reads, owners));
  const openPayments = () => shareRead((keys) => readPayments(reads, keys));
  const payments = openPayments();
  // A key may have made many refunds.
  const summed = shareByOrganization((key: string) => JSON.parse(key)[2], openPayments);
  const recorded = shareRead((questions) => readAccounts(reads, questions));
  return {
    setUp: async ({ organizationId, environment }) =>
      (await setUps(JSON.stringify([organizationId, environment]))) ?? {
        accounts: [],
        hasConnected: false,
        policies: [],
      },
    async payment({ accountId, transactionId }, ofKey = null) {
      const question = JSON.stringify([
        accountId,
        transactionId,
        ofKey?.apiKeyId ?? null,
        ofKey?.currency ?? null,
      ]);
      const stored = await (ofKey === null ? payments : summed)(question);
      if (stored === undefined) throw new Error('A payment is missing in the result');
      return stored;
    },
    accountsOf: async ({ organizationId, environment, transactionId }) =>
      (await recorded(JSON.stringify([organizationId, environment, transactionId]))) ?? [],
  };
}

async function readAccounts(
  reads: Reads,
  questions: readonly string[],
): Promise<Map<string, readonly RecordedAccount[]>> {
  const named = questions.map((question) => JSON.parse(question) as string[]);
  const rows = await reads.query<{ position: number; accounts: readonly RecordedAccount[] }>(
    `SELECT asked.position::int, (
       SELECT coalesce(json_agg(json_build_object('id', a.id, 'parentId', a.parent_id)), '[]')
       FROM payment_name AS n JOIN payment AS p ON p.id = n.payment_id JOIN processor_account AS a ON a.id = n.account_id
       WHERE n.organization_id = asked.organization_id AND n.environment = asked.environment AND n.name = asked.name
         -- Not one that was named by mistake while its processor could not be asked.
         AND (p.amount IS NOT NULL OR p.reserved > 0)) AS accounts
     FROM unnest($1::text[], $2::environment[], $3::text[]) WITH ORDINALITY AS asked(organization_id, environment, name, position)`,
    [0, 1, 2].map((column) => named.map((question) => question[column])),
  );
  return new Map(rows.map(({ position, accounts }) => [questions[position - 1] ?? '', accounts]));
}

async function readSetUps(reads: Reads, owners: readonly string[]): Promise<Map<string, SetUp>> {
  const named = owners.map((owner) => JSON.parse(owner) as [string, string]);
  const rows = await reads.query<{
    organization_id: string;
    environment: string;
    accounts: RowJson[] | null;
    hasConnected: boolean;
    policies: StoredPolicy[] | null;
  }>(
    `SELECT asked.organization_id, asked.environment,
       (SELECT jsonb_agg(to_jsonb(a) - '{encrypted_credentials,encryption_key_id,created_at}'::text[])
        FROM processor_account AS a
        WHERE a.organization_id = asked.organization_id AND a.environment = asked.environment AND a.parent_id IS NULL) AS accounts,
       EXISTS (SELECT FROM processor_account AS a
        WHERE a.organization_id = asked.organization_id AND a.environment = asked.environment AND a.used_at IS NOT NULL) AS "hasConnected",
       (SELECT jsonb_agg(jsonb_build_object('name', p.name, 'priority', p.priority, 'rules', p.rules))
        FROM policy AS p WHERE p.organization_id = asked.organization_id) AS policies
     FROM unnest($1::text[], $2::environment[]) AS asked(organization_id, environment)`,
    [named.map(([organizationId]) => organizationId), named.map(([, environment]) => environment)],
  );
  return new Map(
    rows.map((row) => [
      JSON.stringify([row.organization_id, row.environment]),
      {
        accounts: (row.accounts ?? []).map(accountFrom),
        hasConnected: row.hasConnected,
        policies: (row.policies ?? []).map(policyFromRow),
      },
    ]),
  );
}

/** What the refunds of the key `asked.api_key_id` of the last 24 hours come to in `asked.currency`; see counted_refunds.sql. */
const takenInLastDaySql = `(SELECT c.amount FROM api_key AS k
  CROSS JOIN LATERAL counted_refunds('api_key', service_time(), k.organization_id, k.environment, asked.currency,
    behind => requester_of('key:' || k.id), asking_key => k.id) AS c WHERE k.id = asked.api_key_id)`;

async function readPayments(
  reads: Reads,
  keys: readonly string[],
): Promise<Map<string, StoredPayment & KeySum>> {
  const named = keys.map((key) => JSON.parse(key) as (string | null)[]);
  const rows = await reads.query<StoredPaymentRow>(
    `SELECT service_time() AS now, p.id, p.account_id AS "accountId", p.organization_id AS "organizationId", p.environment, p.external_id AS "externalId", p.amount, p.currency,
       p.charged_at AS "chargedAt", p.refunded_outside AS "refundedOutside", p.reserved, p.fetched_at AS "fetchedAt",
       p.stale_since AS "staleSince", p.has_transfer AS "hasTransfer", p.transfer_destination AS "transferDestination",
       p.has_application_fee AS "hasApplicationFee", p.created_at AS "createdAt", asked.position::int,
       CASE WHEN asked.api_key_id IS NULL THEN 0 ELSE ${takenInLastDaySql} END AS "takenByKeyInLastDay"
     FROM unnest($1::text[], $2::text[], $3::text[], $4::text[]) WITH ORDINALITY
       AS asked(account_id, transaction_id, api_key_id, currency, position)
     LEFT JOIN payment_name AS named ON named.account_id = asked.account_id AND named.name = asked.transaction_id
     LEFT JOIN payment AS p ON p.id = named.payment_id`,
    [0, 1, 2, 3].map((column) => named.map((key) => key[column])),
  );
  return new Map(
    rows.map(({ now, position, takenByKeyInLastDay, ...payment }) => [
      keys[position - 1] ?? '',
      { payment: payment.id === null ? null : payment, now, takenByKeyInLastDay },
    ]),
  );
}

type StoredPaymentRow = Payment & KeySum & { now: Date; position: number };

/**
 * What counts against the daily limits of keys, in one statement: their refunds of the last 24 hours that have neither failed nor
 * been cancelled.
 * @returns minor units of the given currencies, by the id of the key.
 */
export async function takenByKeys(
  db: Database,
  keys: readonly { id: string; currency: string }[],
): Promise<Map<string, bigint>> {
  const rows = await db.$queryRaw<{ id: string; taken: bigint }[]>`
    SELECT asked.api_key_id AS id, ${Prisma.raw(takenInLastDaySql)} AS taken
    FROM unnest(${keys.map(({ id }) => id)}::text[], ${keys.map(({ currency }) => currency)}::text[]) AS asked(api_key_id, currency)`;
  return new Map(rows.map(({ id, taken }) => [id, taken]));
}
