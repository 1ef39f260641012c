import { isDeepStrictEqual } from 'node:util';
import type { Dependencies } from '../../shared/dependencies.ts';
import type { ProcessorAccount } from '../../shared/platform/database.ts';
import { credentialContext } from '../../shared/processors/accounts/connections.ts';
import { setProcessorAccount } from '../../shared/processors/accounts/manage-accounts.ts';
import { sandboxCredentials } from './sandbox-credentials.ts';

/** What seeding works with. */
export type SeedDependencies = Pick<Dependencies, 'db' | 'clock' | 'secrets' | 'hashLimiter'>;

/** Who did it, in the audit log. */
export const actor = 'dev';

const environments = ['test', 'live'] as const;

/**
 * Sets up an account at each processor, test and live, that leads to the sandbox. An account that a person has given
 * credentials of their own is left alone.
 */
export async function pointAccountsAtSandbox(
  deps: SeedDependencies,
  organizationId: string,
  sandboxUrl: string,
): Promise<void> {
  const accounts = await deps.db.processorAccount.findMany({ where: { organizationId } });
  for (const environment of environments) {
    for (const [processor, ours] of Object.entries(sandboxCredentials(environment))) {
      const account = accounts.find((row) => row.environment === environment && row.processor === processor);
      if (account !== undefined && !leadsElsewhere(deps, account, ours, sandboxUrl)) continue;
      const credentials = { ...ours, apiBase: sandboxUrl };
      await setProcessorAccount(deps, { organizationId, environment, processor, credentials, actor });
    }
  }
}

/**
 * True for an account of ours that knows an earlier address of the sandbox or fewer credentials than there are by now,
 * and for one that cannot be opened.
 */
function leadsElsewhere(
  { secrets }: SeedDependencies,
  account: ProcessorAccount,
  ours: Record<string, string>,
  sandboxUrl: string,
): boolean {
  const stored = readCredentials(secrets, account);
  if (stored === null) return true;
  const { apiBase: _, ...rest } = stored;
  const isOurs = Object.entries(rest).every(([name, value]) => ours[name] === value);
  return isOurs && !isDeepStrictEqual(stored, { ...ours, apiBase: sandboxUrl });
}

function readCredentials(
  secrets: SeedDependencies['secrets'],
  account: ProcessorAccount,
): Record<string, unknown> | null {
  const sealed = { keyId: account.encryptionKeyId, bytes: account.encryptedCredentials };
  try {
    return JSON.parse(secrets.open(sealed, credentialContext(account)));
  } catch {
    return null;
  }
}
