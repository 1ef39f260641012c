import type { ServiceSettings } from '../../platform/config.ts';
import type { Stores } from '../../platform/database.ts';
import type { Logger } from '../../platform/log.ts';
import { findOrganization } from '../../platform/organization.ts';
import type { SecretBox } from '../../platform/secrets/secrets.ts';
import { maskSecrets } from '../contract/calls.ts';
import { processorKind } from '../registry.ts';
import { noteAbility } from './abilities.ts';
import type { AccountPlace } from './account.ts';
import { loadAccount } from './account.ts';
import { requireProcessor, setProcessorAccount } from './manage-accounts.ts';
import {
  type ConnectionTest,
  connectionTest,
  evidenceIn,
  probeAll,
  untested,
  withoutSecret,
} from './test-connection.ts';

/** Credentials that the processor refuses altogether; nothing was stored. */
export class RefusedCredentialsError extends Error {
  override readonly name = 'RefusedCredentialsError';
  readonly test: ConnectionTest;

  constructor(test: ConnectionTest) {
    super('The processor refuses these credentials.');
    this.test = test;
  }
}

/**
 * Tests credentials before it stores them, as `setProcessorAccount` does, and notes on the account what the test showed. They are also
 * stored when the processor cannot be reached.
 * @param request.force true to store credentials that are refused, or of another account at the processor than before.
 * @returns also whether the processor said which of its accounts they belong to.
 * @throws RefusedCredentialsError for credentials that cannot refund, without `force`; what `setProcessorAccount` throws.
 */
export async function setTestedAccount(
  deps: Stores & { log: Logger; secrets: SecretBox; settings: ServiceSettings },
  request: AccountPlace & { newId?: string; credentials: unknown; actor: string; force: boolean },
): Promise<{ id: string; resumedRefunds: number; test: ConnectionTest; isIdentified: boolean }> {
  const { organizationId, environment, processor: name, credentials: input } = request;
  requireProcessor(name);
  await findOrganization(deps.db, organizationId);
  const kind = processorKind(name);
  const credentials = kind.parseCredentials(input, environment);
  const processor = maskSecrets(kind.connect(credentials, deps.settings)(null), kind.secretsOf(credentials));
  const answers = await probeAll(processor, deps.settings);
  const test = connectionTest(answers, withoutSecret(processor) ?? untested);
  if (test.verdict === 'unusable' && !request.force) throw new RefusedCredentialsError(test);
  const timeoutMs = deps.settings.PROCESSOR_TIMEOUT_MS;
  const externalAccountId = test.verdict === 'unusable' ? null : await processor.ownAccountId({ timeoutMs });
  const stored = await setProcessorAccount(deps, { ...request, externalAccountId });
  const account = await loadAccount(deps.db, { accountId: stored.id });
  for (const evidence of evidenceIn(answers)) await noteAbility(deps, account, evidence);
  return { ...stored, test, isIdentified: externalAccountId !== null };
}
