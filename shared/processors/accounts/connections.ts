import type { Database, ProcessorAccount } from '../../platform/database.ts';
import type { PlatformDependencies } from '../../platform/dependencies.ts';
import type { Environment } from '../../platform/environment.ts';
import { ServiceError } from '../../platform/errors.ts';
import { isId } from '../../platform/ids.ts';
import { SecretUnreadableError } from '../../platform/secrets.ts';
import { aroundCalls, maskSecrets } from '../contract/calls.ts';
import { processorFailure } from '../contract/outcome.ts';
import type { ProcessorFailure } from '../contract/processor.ts';
import { type CallAnswer, InvalidCredentialsError, type Processor } from '../contract/processor.ts';
import { processorKind } from '../registry.ts';

/** What calling processors needs. */
export interface AccountDependencies extends PlatformDependencies {
  connections: ProcessorConnections;
}

/** Names an organization's account at a processor; there is one per environment. */
export interface AccountKey {
  organizationId: string;
  environment: Environment;
  processor: string;
}

/** An account without its credentials. */
export type AccountName = Omit<ProcessorAccount, 'encryptedCredentials' | 'encryptionKeyId' | 'createdAt'>;

/** For Prisma's `omit`. */
export const withoutCredentials = { encryptedCredentials: true, encryptionKeyId: true } as const;

/** The context that stored credentials are sealed with; see `SecretBox`. */
export function credentialContext(key: AccountKey): string {
  return `processor-account/${key.organizationId}/${key.environment}/${key.processor}`;
}

interface Connection {
  updatedAt: number;
  processor: Processor;
  /** As last read or noted. */
  state: Pick<AccountName, 'misconfiguredAt' | 'throttledUntil'>;
}

/**
 * Connects accounts to their processors. A connection is kept until the credentials change, because SDK clients hold sockets.
 * This is the one place that notes trouble on an account, for all processes: refused credentials and rate limits. No call is
 * made for a throttled account.
 */
export class ProcessorConnections {
  readonly #deps: Pick<PlatformDependencies, 'db' | 'clock' | 'log' | 'secrets'>;
  readonly #connected = new Map<string, Connection>();

  constructor(deps: Pick<PlatformDependencies, 'db' | 'clock' | 'log' | 'secrets'>) {
    this.#deps = deps;
  }

  /**
   * @throws SecretUnreadableError when the credentials were sealed for another account, environment or key.
   * @throws InvalidCredentialsError when they do not fit the account's environment.
   */
  async connect(account: AccountName): Promise<Processor> {
    const { misconfiguredAt, throttledUntil } = account;
    const known = this.#connected.get(account.id);
    if (known !== undefined && known.updatedAt === account.updatedAt.getTime()) {
      known.state = { misconfiguredAt, throttledUntil };
      return known.processor;
    }
    const stored = await this.#deps.db.processorAccount.findUniqueOrThrow({ where: { id: account.id } });
    const connection: Connection = {
      updatedAt: stored.updatedAt.getTime(),
      processor: await this.#open(stored),
      state: { misconfiguredAt, throttledUntil },
    };
    connection.processor = aroundCalls(connection.processor, (call) => this.#watch(stored, connection, call));
    this.#connected.set(account.id, connection);
    return connection.processor;
  }

  async #open(account: ProcessorAccount): Promise<Processor> {
    try {
      const sealed = { keyId: account.encryptionKeyId, bytes: account.encryptedCredentials };
      const text: unknown = JSON.parse(this.#deps.secrets.open(sealed, credentialContext(account)));
      const kind = processorKind(account.processor);
      const credentials = kind.parseCredentials(text, account.environment);
      return maskSecrets(kind.connect(credentials), kind.secretsOf(credentials));
    } catch (error) {
      if (isUnusableCredentials(error)) {
        const failure = { code: 'credentials_unusable', message: error.message };
        await markMisconfigured(this.#deps, account, failure);
      }
      throw error;
    }
  }

  /** Makes a call unless the account is throttled, and notes on the account what the answer says about it. */
  async #watch<Answer extends CallAnswer>(
    account: ProcessorAccount,
    { state }: Connection,
    call: () => Promise<Answer>,
  ): Promise<Answer> {
    const restMs = (state.throttledUntil?.getTime() ?? 0) - this.#deps.clock.now().getTime();
    if (restMs > 0) return throttled(restMs) as Answer;
    const answer = await call();
    try {
      if (answer.kind === 'misconfigured') {
        await markMisconfigured(this.#deps, account, answer.failure);
        state.misconfiguredAt = this.#deps.clock.now();
      } else if (answer.kind === 'unavailable' && answer.rateLimited) {
        state.throttledUntil = await throttleAccount(this.#deps, account, answer.retryAfterMs);
      } else if (state.misconfiguredAt !== null && accepting.has(answer.kind)) {
        await clearMisconfigured(this.#deps, account);
        state.misconfiguredAt = null;
      }
    } catch (error) {
      // The answer must not be lost; the next call notes the same.
      this.#deps.log.warn({ accountId: account.id, err: error }, 'the state of an account was not stored');
    }
    return answer;
  }
}

/** Answers that prove that the credentials work. A refusal does not: the adapter may have refused without a call. */
const accepting: ReadonlySet<string> = new Set(['found', 'accepted', 'mismatched', 'cancelled']);

function throttled(restMs: number): Extract<CallAnswer, { kind: 'unavailable' }> {
  const failure = processorFailure('throttled', 'The processor asked for fewer requests.');
  return { kind: 'unavailable', failure, retryAfterMs: Math.ceil(restMs), rateLimited: false };
}

/** True for what `connect` throws when the stored credentials cannot be used. The message holds no secret. */
export function isUnusableCredentials(
  error: unknown,
): error is SecretUnreadableError | InvalidCredentialsError {
  return error instanceof SecretUnreadableError || error instanceof InvalidCredentialsError;
}

/** The account of a refund or payment. */
export async function loadAccount(db: Database, key: AccountKey): Promise<AccountName> {
  const { organizationId, environment, processor } = key;
  return await db.processorAccount.findUniqueOrThrow({
    where: { organizationId_environment_processor: { organizationId, environment, processor } },
    omit: withoutCredentials,
  });
}

/** For a rate limit without Retry-After. */
const defaultThrottleMs = 1_000;

/**
 * Throttles an account after a 429; other accounts are not affected.
 * @returns until when no call is made for the account.
 */
async function throttleAccount(
  { db, clock }: Pick<PlatformDependencies, 'db' | 'clock'>,
  account: Pick<ProcessorAccount, 'id'>,
  retryAfterMs: number | null,
): Promise<Date> {
  const restMs = Math.min(retryAfterMs ?? defaultThrottleMs, 60 * 60 * 1000);
  const until = new Date(clock.now().getTime() + restMs);
  await db.processorAccount.updateMany({
    where: { id: account.id, OR: [{ throttledUntil: null }, { throttledUntil: { lt: until } }] },
    data: { throttledUntil: until },
  });
  return until;
}

/** Marks the account's credentials as refused, unless they have been replaced since. */
export async function markMisconfigured(
  { db, clock, log }: Pick<PlatformDependencies, 'db' | 'clock' | 'log'>,
  account: Pick<ProcessorAccount, 'id' | 'updatedAt'>,
  failure: ProcessorFailure,
): Promise<void> {
  log.error({ accountId: account.id, failure }, 'the processor rejected the credentials of an account');
  await db.processorAccount.updateMany({
    where: { id: account.id, updatedAt: account.updatedAt, misconfiguredAt: null },
    data: { misconfiguredAt: clock.now() },
  });
}

/** Clears the mark once the processor accepts the credentials. */
async function clearMisconfigured(
  { db }: Pick<PlatformDependencies, 'db'>,
  account: Pick<ProcessorAccount, 'id' | 'updatedAt'>,
): Promise<void> {
  await db.processorAccount.updateMany({
    where: { id: account.id, updatedAt: account.updatedAt },
    data: { misconfiguredAt: null },
  });
}

/** @throws ServiceError not_found for an id that is malformed, unknown, or of an account at another processor. */
export async function findAccount(db: Database, processor: string, id: string): Promise<AccountName> {
  const account = isId('acc', id)
    ? await db.processorAccount.findUnique({ where: { id }, omit: withoutCredentials })
    : null;
  if (account === null || account.processor !== processor) {
    throw new ServiceError('not_found', 'Processor account not found.');
  }
  return account;
}
