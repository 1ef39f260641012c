import { query } from '../stores/database-client.ts';

/** Adds accounts that were connected to the default Stripe account of the test environment a year ago. @param databaseUrl of the owner. */
export async function addIdleAccounts(
  databaseUrl: string,
  organizationId: string,
  count: number,
): Promise<void> {
  await query(
    databaseUrl,
    `INSERT INTO processor_account
       (id, organization_id, environment, processor, name, parent_id, connected_account, used_at, updated_at)
     SELECT 'acc_idle' || n, organization_id, environment, processor, name || '/acct_idle' || n, id, 'acct_idle' || n,
       now() - interval '1 year', updated_at
     FROM processor_account, generate_series(1, ${count}) AS n
     WHERE organization_id = '${organizationId}' AND environment = 'test' AND processor = 'stripe' AND is_default`,
  );
  await query(databaseUrl, 'analyze');
}
