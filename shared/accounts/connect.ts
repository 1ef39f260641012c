import type { Database, ProcessorAccount } from '../db.ts';
import type { Environment } from '../environment.ts';
import { maskSecrets } from '../processors/mask-secrets.ts';
import { InvalidCredentialsError, type Processor } from '../processors/processor.ts';
import { processorKind } from '../processors/registry.ts';
import { type SecretBox, SecretUnreadableError } from '../secrets.ts';

/** Names an organization's account at a processor; there is one per environment. */
export interface AccountKey {
  organizationId: string;
  environment: Environment;
  processor: string;
}

/** What a stored credential is bound to; see `SecretBox`. */
export function credentialContext(key: AccountKey): string {
  return `processor-account/${key.organizationId}/${key.environment}/${key.processor}`;
}

/**
 * Turns accounts into connected processors. A connection is kept until the account's credentials change, because the
 * SDK clients hold sockets.
 */
export class ProcessorConnections {
  readonly #secrets: SecretBox;
  readonly #connected = new Map<string, { updatedAt: number; processor: Processor }>();

  constructor(secrets: SecretBox) {
    this.#secrets = secrets;
  }

  /**
   * @throws SecretUnreadableError when the credentials were sealed for another account, environment or key.
   * @throws InvalidCredentialsError when they do not fit the account's environment.
   */
  connect(account: ProcessorAccount): Processor {
    const known = this.#connected.get(account.id);
    if (known !== undefined && known.updatedAt === account.updatedAt.getTime()) return known.processor;
    const sealed = { keyId: account.encryptionKeyId, bytes: account.encryptedCredentials };
    const stored: unknown = JSON.parse(this.#secrets.open(sealed, credentialContext(account)));
    const kind = processorKind(account.processor);
    const credentials = kind.parseCredentials(stored, account.environment);
    const processor = maskSecrets(kind.connect(credentials), kind.secretsOf(credentials));
    this.#connected.set(account.id, { updatedAt: account.updatedAt.getTime(), processor });
    return processor;
  }
}

/** True for what `connect` throws when an account's stored credentials cannot be used; its message names no secret. */
export function isUnusableCredentials(
  error: unknown,
): error is SecretUnreadableError | InvalidCredentialsError {
  return error instanceof SecretUnreadableError || error instanceof InvalidCredentialsError;
}

/** The account that a refund goes through, by its own organization and environment and no other. */
export async function loadAccount(db: Database, key: AccountKey): Promise<ProcessorAccount> {
  const { organizationId, environment, processor } = key;
  return await db.processorAccount.findUniqueOrThrow({
    where: { organizationId_environment_processor: { organizationId, environment, processor } },
  });
}
