import { setTimeout as sleep } from 'node:timers/promises';
import type { ServiceSettings } from '../../platform/config.ts';
import type { ProcessorAccount, Stores } from '../../platform/database.ts';
import type { Logger } from '../../platform/log.ts';
import { type SecretBox, SecretUnreadableError } from '../../platform/secrets/secrets.ts';
import { aroundCalls, type Call, maskSecrets } from '../contract/calls.ts';
import { processorFailure, unavailable } from '../contract/outcome.ts';
import {
  type CallAnswer,
  InvalidCredentialsError,
  type OnBehalfOf,
  type Processor,
  type Unavailable,
  type WebhookVerdict,
} from '../contract/processor.ts';
import { processorKind } from '../registry.ts';
import {
  type AbilityState,
  abilitiesOf,
  type Evidence,
  evidenceOf,
  isNews,
  noteAbility,
  type Operation,
} from './abilities.ts';
import { type AccountName, credentialContext } from './account.ts';
import { limitedAs } from './connected-accounts.ts';
import { CallPace, noteRateLimit, partOfRate, pauseLeftMs } from './rate-limits.ts';

interface ConnectionDependencies extends Stores {
  log: Logger;
  secrets: SecretBox;
  settings: ServiceSettings;
}

/** An account as last read or noted, and its processor with the credentials of then. */
export interface Connection {
  account: AccountName;
  processor: Processor;
  /** Signed webhooks in a row that these credentials have not verified. */
  refusedWebhooks: number;
}

/** The connection of an account with credentials of its own. */
interface OwnConnection extends Connection {
  onBehalfOf: OnBehalfOf;
}

/** After so many of them, the account's webhooks count as refused: one alone may be forged. */
const refusedInRow = 5;

/**
 * Connects accounts to their processors. A connection is kept until the credentials change, because SDK clients keep sockets open. Connected
 * accounts, of which there may be any number, use that of their parent, and nothing of them is kept.
 * This is the one place that notes on an account what its calls show, for all processes: what the credentials may do, and rate limits.
 * No call of a paused operation is made.
 */
export class ProcessorConnections {
  readonly #deps: ConnectionDependencies;
  readonly #connected = new Map<string, OwnConnection>();
  readonly #opening = new Map<string, Promise<OwnConnection>>();
  readonly #pace = new CallPace();

  constructor(deps: ConnectionDependencies) {
    this.#deps = deps;
  }

  /**
   * @throws SecretUnreadableError when the credentials were sealed for another account, environment or key.
   * @throws InvalidCredentialsError when they do not fit the account's environment.
   */
  async connect(account: AccountName): Promise<Processor> {
    const own = await this.#withCredentials(account);
    if (account.parentId === null) return own.processor;
    return this.#watched(account, own.onBehalfOf(account.connectedAccount)).processor;
  }

  /** The connection of the account, or of the one that it is connected to, as the caller has read it or newer. */
  async #withCredentials(account: AccountName): Promise<OwnConnection> {
    const { id, parentId, updatedAt } = account;
    const known = this.#connected.get(parentId ?? id);
    if (known?.account.updatedAt.getTime() === updatedAt.getTime()) {
      if (parentId === null) known.account = account;
      return known;
    }
    const opened = await this.open(parentId ?? id);
    // The read was already running, and is older than the caller's.
    return opened.account.updatedAt < updatedAt ? await this.#withCredentials(account) : opened;
  }

  /** The last connection of an account with credentials of its own, which has been replaced if the account was updated since. */
  last(accountId: string): Connection | undefined {
    return this.#connected.get(accountId);
  }

  /**
   * Connects an account with credentials of its own as it is stored now. Concurrent callers share the read.
   * @throws as `connect`, and for an unknown account.
   */
  open(accountId: string): Promise<OwnConnection> {
    let opening = this.#opening.get(accountId);
    if (opening === undefined) {
      opening = this.#open(accountId).finally(() => this.#opening.delete(accountId));
      this.#opening.set(accountId, opening);
    }
    return opening;
  }

  async #open(accountId: string): Promise<OwnConnection> {
    const stored = await this.#deps.db.processorAccount.findUniqueOrThrow({ where: { id: accountId } });
    const { encryptedCredentials: _, encryptionKeyId: _keyId, createdAt: _createdAt, ...account } = stored;
    const onBehalfOf = await this.#unseal(stored);
    const connection = Object.assign(this.#watched(account, onBehalfOf(null)), { onBehalfOf });
    this.#connected.set(accountId, connection);
    return connection;
  }

  #watched(account: AccountName, processor: Processor): Connection {
    const connection: Connection = { account, processor, refusedWebhooks: 0 };
    connection.processor = aroundCalls(processor, (call, operation) =>
      this.#watch(connection, operation, call),
    );
    return connection;
  }

  async #unseal(account: ProcessorAccount): Promise<OnBehalfOf> {
    try {
      const sealed = {
        keyId: account.encryptionKeyId ?? '',
        bytes: account.encryptedCredentials ?? new Uint8Array(),
      };
      const text: unknown = JSON.parse(this.#deps.secrets.open(sealed, credentialContext(account)));
      const kind = processorKind(account.processor);
      const credentials = kind.parseCredentials(text, account.environment);
      const onBehalfOf = kind.connect(credentials, this.#deps.settings);
      const secrets = kind.secretsOf(credentials);
      return (connectedAccount) => maskSecrets(onBehalfOf(connectedAccount), secrets);
    } catch (error) {
      if (isUnusableCredentials(error)) {
        const failure = { code: 'credentials_unusable', message: error.message };
        await noteAbility(this.#deps, account, { ability: 'credentials', failure });
      }
      throw error;
    }
  }

  /**
   * Waits until this process may make one more call that no claim has counted. Other processes do not know of it: together they may exceed
   * the rate, and slow down after a 429.
   * @param limits.perSecond for an account without a rate of its own; 0 for no limit.
   * @returns null when it may be made; what to answer in its place when the operation is paused, or the wait would be longer than `mostMs`.
   */
  async waitForCall(
    account: AccountName,
    operation: Operation,
    { perSecond, mostMs }: { perSecond: number; mostMs: number },
  ): Promise<Unavailable | null> {
    const now = this.#deps.clock.now();
    const pauseMs = pauseLeftMs(account, operation, now);
    if (pauseMs > 0) return tooManyCalls(pauseMs);
    const rate = (account.callsPerSecond ?? perSecond) * partOfRate(account, operation, now);
    const waitMs = this.#pace.take(`${limitedAs(account)}/${operation}`, rate, performance.now(), mostMs);
    if (waitMs === null) return tooManyCalls(mostMs);
    if (waitMs > 0) await sleep(waitMs);
    return null;
  }

  /** Makes a call unless its operation is paused, and notes on the account what the answer says about it. */
  async #watch<Answer extends CallAnswer>(
    connection: Connection,
    operation: Call,
    call: () => Promise<Answer>,
  ): Promise<Answer> {
    // A person asks for a probe, which is not limited.
    const restMs =
      operation === 'probe' ? 0 : pauseLeftMs(connection.account, operation, this.#deps.clock.now());
    if (restMs > 0) return tooManyCalls(restMs) as Answer;
    const answer = await call();
    try {
      await this.#note(connection, operation, answer);
    } catch (error) {
      // The answer must not be lost; the next call notes the same.
      const { id: accountId } = connection.account;
      this.#deps.log.warn({ accountId, err: error }, 'the state of an account was not stored');
    }
    return answer;
  }

  async #note(connection: Connection, operation: Call, answer: CallAnswer): Promise<void> {
    if (operation !== 'probe' && answer.kind === 'unavailable' && answer.cause === 'rate_limited') {
      const limited = limitedAs(connection.account);
      const rateLimits = await noteRateLimit(this.#deps, limited, operation, answer.retryAfterMs);
      connection.account = { ...connection.account, rateLimits };
    }
    for (const evidence of evidenceOf(operation, answer)) await this.#noteAbility(connection, evidence);
  }

  /**
   * Notes whether the account's webhooks are verified, when that is news.
   * @param stored what is on record of that; null when nothing is.
   */
  async noteWebhook(
    connection: Connection,
    verdict: WebhookVerdict,
    stored: AbilityState['state'] | null,
  ): Promise<void> {
    const isVerified = verdict.kind === 'verified';
    if (isVerified) connection.refusedWebhooks = 0;
    else if (verdict.isSigned) connection.refusedWebhooks += 1;
    const isRefused = connection.refusedWebhooks >= refusedInRow;
    if (stored === (isVerified ? 'works' : 'refused') || !(isVerified || isRefused)) return;
    const failure = isVerified ? null : { code: 'invalid_signature', message: verdict.reason };
    try {
      await noteAbility(this.#deps, connection.account, { ability: 'webhooks', failure });
    } catch (error) {
      // The answer must not be lost; the next webhook notes the same.
      const { id: accountId } = connection.account;
      this.#deps.log.warn({ accountId, err: error }, 'the state of an account was not stored');
    }
  }

  async #noteAbility(connection: Connection, evidence: Evidence): Promise<void> {
    const { account } = connection;
    if (!isNews(abilitiesOf(account), evidence)) return;
    const known = await noteAbility(this.#deps, account, evidence);
    if (known !== null) connection.account = { ...connection.account, abilities: known as object };
  }
}

/** The answer in place of a call that the limits do not allow now. */
function tooManyCalls(retryAfterMs: number): Unavailable {
  const failure = processorFailure('throttled', 'The account makes too many calls to the processor.');
  return unavailable('rate_limited', failure, Math.ceil(retryAfterMs));
}

/** True for what `connect` throws when the stored credentials cannot be used. The message has no secret. */
export function isUnusableCredentials(
  error: unknown,
): error is SecretUnreadableError | InvalidCredentialsError {
  return error instanceof SecretUnreadableError || error instanceof InvalidCredentialsError;
}
