import { Approvals } from './approvals.ts';
import { Faults } from './faults.ts';
import { type Journal, openJournal, readJournal } from './journal.ts';
import type { RefundStatus, SandboxProcessor } from './processor.ts';
import { type RateLimits, Rates } from './rates.ts';
import { startWebhooks, type Webhooks } from './webhooks.ts';

export type Environment = 'test' | 'live';

export const ACCOUNT_NAME = /^[A-Za-z0-9_]+$/;

/** Ids are unique within a scope. */
export interface Scope {
  processor: string;
  environment: Environment;
  /** The name of the account of the credentials; left out for the one that has none. */
  account?: string | undefined;
  /** The account that it belongs to, one that is connected to the account of the credentials; left out for that account's own. */
  connectedAccount?: string | undefined;
}

export interface Payment extends Scope {
  /** Stripe: the charge's id, also when the payment was registered under its payment intent. */
  id: string;
  /** The id under which it was first used, and which the control API reports. */
  registeredAs: string;
  amount: number;
  /** Stripe: what was captured so far, where it is not all or nothing of the amount. */
  capturedAmount?: number | undefined;
  currency: string;
  createdAt: number;
  status: string;
  paymentMethod: string;
  /** The number of the test card that it was paid with. */
  card?: string | undefined;
  /** The processor's word for the state of its dispute; left out without one. */
  disputeStatus?: string | undefined;
  /** Stripe: the connected account that all of it was transferred to. */
  transferTo?: string | undefined;
  /** Stripe: what the platform took of it. */
  applicationFee?: number | undefined;
  /** Stripe: the checkout session that made it, and the invoice of which it paid all or a part. */
  checkoutSession?: string | undefined;
  invoice?: string | undefined;
  /** Braintree: the shop's name for it; `order-` and the id when left out. */
  orderId?: string | undefined;
}

export interface Refund extends Scope {
  id: string;
  paymentId: string;
  /**
   * A void is a Braintree sale that was voided before it settled; it has no credit. A decline is a credit that Braintree refused
   * in its answer and keeps nevertheless.
   */
  kind: 'refund' | 'void' | 'decline';
  amount: number;
  currency: string;
  status: string;
  /** The caller's id of the refund: Stripe metadata.refund_id, Braintree order id. */
  reference: string;
  createdAt: number;
  /** The status that follows in time; null when the status stays, such as after the control API has set it. */
  becomes: string | null;
  /** What has to come first: the end of its payment, or a balance that covers it. */
  heldBy?: 'payment' | 'balance' | undefined;
  reason: string | null;
  metadata: Record<string, string>;
  failureReason: string | null;
  /** What the customer's bank knows it by; left out until the control API sets it. */
  bankReference?: string | undefined;
  /** Stripe: whether the customer sees a refund, or the charge disappears; `refund` when left out. */
  destinationType?: string | undefined;
  /** Braintree: the account that pays, where it is not that of the sale. */
  merchantAccountId?: string | undefined;
  /** Stripe: where the customer is asked for a bank account. */
  instructionsEmail?: string | undefined;
  /** Stripe: what it took back from the connected account that had the transfer, and gave back of the application fee. */
  transferReversed?: number | undefined;
  applicationFeeRefunded?: number | undefined;
}

/** An account that is connected to a platform, where something else is set than usual. */
export interface ConnectedAccount {
  environment: Environment;
  id: string;
  /** In minor units of any currency; null while it covers everything. */
  balance: number | null;
  isConnected: boolean;
}

/** What is left out stays as it is. */
type RefundChange = {
  [Field in 'status' | 'bankReference' | 'destinationType' | 'becomes']?: Refund[Field] | undefined;
} & {
  failureReason?: string | undefined;
};

/** What an idempotency key of an account stands for. */
export interface KeptAnswer {
  claim: string;
  fingerprint: string;
  /** What a repetition is answered from. */
  kept: string;
  /** The first answer; a day later the key stands for nothing. */
  at: number;
}

export interface Settings {
  autoSettleMs: number | null;
  latencyMs: number;
  /** Requests per second of one account; null for any number. */
  rateLimits: RateLimits;
  /** Stripe: what happens to refunds that the balance does not cover; null while it covers all. */
  insufficientBalance: 'pending' | 'refused' | null;
  /** Receivers, each of the events of one account. */
  webhooks: WebhookEndpoint[];
}

/** A call about a refund, or for one, of a payment that belongs to another account. */
export interface MisdirectedCall extends Scope {
  /** Its method, its path, and where it is known the payment. */
  call: string;
}

/** Where an account's events go, and what they are signed with. */
export type WebhookEndpoint = Scope & { url: string } & Record<string, string>;

export interface LedgerOptions {
  processors: readonly SandboxProcessor[];
  /** Where the state lives; without it, nothing survives a restart. */
  dataFile?: string | undefined;
  /** Its time, in milliseconds since 1970; the machine's by default. */
  now?: (() => number) | undefined;
  /** Takes a line when webhooks could not be delivered. */
  report?: ((line: string) => void) | undefined;
}

type Entry =
  | { payment: Payment }
  | { refund: Refund }
  | { answer: KeptAnswer }
  | { settings: Settings }
  | { connected: ConnectedAccount };

const DAY_MS = 86_400_000;
const SWEEP_EVERY_MS = 50;
/** What a change of a refund shows to its owner. */
const SHOWN = ['status', 'bankReference', 'destinationType', 'heldBy'] as const;

/** Everything that the processors of a sandbox know. */
export class Ledger {
  readonly processors: readonly SandboxProcessor[];
  /** When payments and refunds are made. */
  readonly now: () => number;
  readonly faults = new Faults();
  readonly approvals = new Approvals();
  readonly rates = new Rates();
  /** Idempotency keys whose answer has not left yet. */
  readonly keysInUse = new Set<string>();
  /** Since the start. */
  readonly misdirected: MisdirectedCall[] = [];
  #settings: Settings = {
    ...{ autoSettleMs: 1500, latencyMs: 0, webhooks: [] },
    ...{ rateLimits: { perOperation: null, perAccount: null }, insufficientBalance: null },
  };
  readonly #payments = new Map<string, Payment>();
  /** By every id that a payment has. */
  readonly #paymentsById = new Map<string, string>();
  /** Ids of payments and refunds of any account, so that an id that one account has is unknown to the others. */
  readonly #takenIds = new Set<string>();
  readonly #connected = new Map<string, ConnectedAccount>();
  readonly #scopes = new Map<string, Scope>();
  /** The accounts that connected accounts are connected to. */
  readonly #platforms = new Map<string, Scope>();
  readonly #refunds = new Map<string, Refund>();
  readonly #refundsByPayment = new Map<string, Set<string>>();
  readonly #unsettled = new Set<string>();
  readonly #answers = new Map<string, KeptAnswer>();
  readonly #journal: Journal | null;
  readonly #webhooks: Webhooks;
  readonly #sweep: NodeJS.Timeout;

  constructor({ processors, dataFile, now = Date.now, report = () => undefined }: LedgerOptions) {
    this.processors = processors;
    this.now = now;
    for (const { name: processor } of processors) {
      for (const environment of ['test', 'live'] as const) this.#noteScope({ processor, environment });
    }
    if (dataFile !== undefined) for (const entry of readJournal(dataFile)) this.#apply(entry as Entry);
    this.#journal = dataFile === undefined ? null : openJournal(dataFile, this.#snapshot());
    this.#webhooks = startWebhooks(this, report);
    this.#sweep = setInterval(() => this.settleDueRefunds(), SWEEP_EVERY_MS).unref();
  }

  /** @throws RangeError for a name that no processor of this sandbox has. */
  processor(name: string): SandboxProcessor {
    const found = this.processors.find((processor) => processor.name === name);
    if (found === undefined) throw new RangeError(`The sandbox has no processor ${name}.`);
    return found;
  }

  get settings(): Settings {
    return this.#settings;
  }

  changeSettings(change: Partial<Settings>): void {
    this.#write({ settings: { ...this.#settings, ...change } });
    if (this.#settings.insufficientBalance === 'pending') return;
    this.#release('balance', [...this.#refunds.values()], (refund) => refund.connectedAccount === undefined);
  }

  connectedAccount({ environment }: Pick<Scope, 'environment'>, id: string): ConnectedAccount {
    const usual = { environment, id, balance: null, isConnected: true };
    return this.#connected.get(`${environment}/${id}`) ?? usual;
  }

  /** False where payments of the connected account belong to another account. */
  isPlatformOf({ environment, account }: Omit<Scope, 'processor'>, id: string): boolean {
    const platform = this.#platforms.get(`${environment}/${id}`);
    return platform === undefined || platform.account === account;
  }

  /** Those for which something was set. */
  connectedAccounts(): ConnectedAccount[] {
    return [...this.#connected.values()];
  }

  /** Refunds of the account go on that its balance covers now, in the order in which they were made. */
  changeConnectedAccount(account: ConnectedAccount): void {
    this.#write({ connected: account });
    const { environment, id } = account;
    this.#release('balance', [...this.#refunds.values()], (refund) => {
      const isOurs = refund.environment === environment && refund.connectedAccount === id;
      return isOurs && this.takeBalance({ environment }, id, refund.amount);
    });
  }

  /**
   * Takes an amount from the balance of a connected account; a negative one is added.
   * @returns false when the balance does not cover it, and nothing was taken.
   */
  takeBalance(scope: Pick<Scope, 'environment'>, id: string, amount: number): boolean {
    const account = this.connectedAccount(scope, id);
    if (account.balance === null) return true;
    if (account.balance < amount) return false;
    this.#write({ connected: { ...account, balance: account.balance - amount } });
    return true;
  }

  /** A refund that comes back is the account's again; what was taken from the account of a transfer is not. */
  #giveBack({ environment, connectedAccount, amount, heldBy }: Refund): void {
    if (connectedAccount !== undefined && heldBy !== 'balance') {
      this.takeBalance({ environment }, connectedAccount, -amount);
    }
  }

  knownPayment(scope: Scope, id: string): Payment | undefined {
    return this.#payments.get(this.#paymentsById.get(nameOf(scope, id)) ?? '');
  }

  /** An id of plausible form that no account has becomes a payment of 100.00 USD made yesterday. */
  findPayment(scope: Scope, id: string): Payment | undefined {
    const { payments } = this.processor(scope.processor);
    const known = this.knownPayment(scope, id);
    if (known !== undefined || mayNotExist(id) || !payments.isPlausible(id)) return known;
    if (this.isElsewhere(scope, id)) return undefined;
    const [paymentMethod, status] = [payments.unseenMethod(id), payments.statuses[0]];
    const createdAt = this.now() - DAY_MS;
    return this.putPayment(scope, id, { amount: 10_000, currency: 'usd', createdAt, status, paymentMethod });
  }

  /** True for the id of a payment or refund that belongs to another account. */
  isElsewhere(scope: Scope, id: string): boolean {
    if (this.knownPayment(scope, id) !== undefined || this.refund(scope, id) !== undefined) return false;
    return this.#takenIds.has(takenName(scope, id));
  }

  /** Changes a payment, and sends webhooks about it. */
  changePayment(payment: Payment, change: Partial<Payment>): Payment {
    const next: Payment = { ...payment, ...change };
    this.#write({ payment: next });
    if (next.status === this.processor(next.processor).payments.statuses[0]) {
      this.#release('payment', this.refundsOf(next));
    }
    this.#webhooks.announce(next, ({ paymentEvents }) => paymentEvents?.(payment, next) ?? []);
    return next;
  }

  /** Adds a payment, or replaces the one that has the id. */
  putPayment(scope: Scope, id: string, fields: Omit<Payment, 'id' | 'registeredAs' | keyof Scope>): Payment {
    const { processor, environment, account, connectedAccount } = scope;
    const known = this.knownPayment(scope, id);
    const names = { id: known?.id ?? this.#idsOf(processor, id)[0], registeredAs: known?.registeredAs ?? id };
    const payment: Payment = { ...fields, processor, environment, account, connectedAccount, ...names };
    this.#write({ payment });
    return payment;
  }

  /** Every id of a payment, given one of them. */
  idsOfPayment(scope: Scope, id: string): readonly string[] {
    return this.#idsOf(scope.processor, this.knownPayment(scope, id)?.id ?? id);
  }

  /** Every scope that has payments, those of the accounts without a name first, test before live. */
  scopes(): Scope[] {
    return [...this.#scopes.values()];
  }

  payments(scope: Scope): Payment[] {
    return [...this.#payments.values()].filter((payment) => sameScope(payment, scope));
  }

  refund(scope: Scope, id: string): Refund | undefined {
    return this.#refunds.get(nameOf(scope, id));
  }

  /** Oldest first. */
  refunds(scope: Scope): Refund[] {
    return [...this.#refunds.values()].filter((refund) => sameScope(refund, scope));
  }

  /** Oldest first. */
  refundsOf(payment: Payment): Refund[] {
    const names = this.#refundsByPayment.get(nameOf(payment, payment.id)) ?? [];
    return [...names].flatMap((name) => this.#refunds.get(name) ?? []);
  }

  refundedAmount(payment: Payment): number {
    const amounts = this.refundsOf(payment).map((refund) =>
      this.#meaningOf(refund).isReturned ? 0 : refund.amount,
    );
    return amounts.reduce((sum, amount) => sum + amount, 0);
  }

  /** Adds a refund, and sends webhooks about it. */
  addRefund(refund: Refund): Refund {
    this.#write({ refund });
    this.#webhooks.announce(refund, ({ events }) => events(this, null, refund));
    return refund;
  }

  /** The only way a refund changes. It stays as it is then, unless the change says what it becomes. */
  moveRefund(refund: Refund, change: RefundChange): Refund {
    const { failureReason = change.status === 'failed' ? 'unknown' : null } = change;
    const next = { ...refund, becomes: null, heldBy: undefined, ...change, failureReason } as Refund;
    this.#write({ refund: next });
    if (this.#meaningOf(next).isReturned && !this.#meaningOf(refund).isReturned) this.#giveBack(refund);
    if (SHOWN.some((field) => next[field] !== refund[field])) {
      this.#webhooks.announce(next, ({ events }) => events(this, refund, next));
    }
    return next;
  }

  /**
   * Called before each request, so that no status is stale, and by a timer, so that webhooks are sent without requests. Due
   * times follow from the stored creation time and survive a restart.
   */
  settleDueRefunds(): void {
    const { autoSettleMs } = this.#settings;
    if (autoSettleMs === null) return;
    for (const name of this.#unsettled) {
      const refund = this.#refunds.get(name);
      // The refunds come oldest first and share one delay.
      if (refund === undefined || refund.createdAt > this.now() - autoSettleMs) return;
      if (refund.becomes !== null) this.moveRefund(refund, { status: refund.becomes });
    }
  }

  /** Lets the refunds go on that waited for this, and that may. */
  #release(
    held: Refund['heldBy'],
    refunds: readonly Refund[],
    may: (refund: Refund) => boolean = () => true,
  ): void {
    for (const refund of refunds) {
      if (refund.heldBy === held && may(refund)) this.moveRefund(refund, { becomes: refund.becomes });
    }
  }

  keptAnswer(claim: string): KeptAnswer | undefined {
    const kept = this.#answers.get(claim);
    return kept !== undefined && kept.at > this.now() - DAY_MS ? kept : undefined;
  }

  keepAnswer(answer: Omit<KeptAnswer, 'at'>): void {
    this.#write({ answer: { ...answer, at: this.now() } });
  }

  /** Writes everything so far to the journal. */
  flush(): void {
    this.#journal?.write();
  }

  close(): void {
    clearInterval(this.#sweep);
    this.#webhooks.stop();
    this.#journal?.close();
  }

  #idsOf(processor: string, id: string): readonly [string, ...string[]] {
    return this.processor(processor).payments.idsOf?.(id) ?? [id];
  }

  #meaningOf({ processor, status }: Refund): RefundStatus {
    return this.processor(processor).refundStatuses[status] ?? {};
  }

  #write(entry: Entry): void {
    this.#apply(entry);
    this.#journal?.append(entry);
  }

  #apply(entry: Entry): void {
    // A file of an earlier version lacks some.
    if ('settings' in entry) this.#settings = { ...this.#settings, ...entry.settings };
    else if ('answer' in entry) this.#answers.set(entry.answer.claim, entry.answer);
    else if ('connected' in entry) this.#applyConnected(entry.connected);
    else if ('payment' in entry) this.#applyPayment(entry.payment);
    else this.#applyRefund(entry.refund);
  }

  #applyConnected(account: ConnectedAccount): void {
    this.#connected.set(`${account.environment}/${account.id}`, account);
  }

  #applyPayment(payment: Payment): void {
    const name = nameOf(payment, payment.id);
    this.#payments.set(name, payment);
    this.#noteScope(payment);
    for (const id of this.#idsOf(payment.processor, payment.id)) {
      this.#paymentsById.set(nameOf(payment, id), name);
      this.#takenIds.add(takenName(payment, id));
    }
  }

  #noteScope({ processor, environment, account, connectedAccount }: Scope): void {
    const scope = { processor, environment, account, connectedAccount };
    if (this.#scopes.has(nameOf(scope, ''))) return;
    this.#scopes.set(nameOf(scope, ''), scope);
    if (connectedAccount === undefined) return;
    const platform = `${environment}/${connectedAccount}`;
    if (!this.#platforms.has(platform)) this.#platforms.set(platform, scope);
  }

  #applyRefund(refund: Refund): void {
    const name = nameOf(refund, refund.id);
    this.#takenIds.add(takenName(refund, refund.id));
    this.#refunds.set(name, refund);
    if (refund.becomes !== null && refund.heldBy === undefined) this.#unsettled.add(name);
    else this.#unsettled.delete(name);
    const paymentName = nameOf(refund, refund.paymentId);
    const siblings = this.#refundsByPayment.get(paymentName) ?? new Set();
    this.#refundsByPayment.set(paymentName, siblings.add(name));
  }

  #snapshot(): Entry[] {
    return [
      { settings: this.#settings },
      ...[...this.#connected.values()].map((connected) => ({ connected })),
      ...[...this.#payments.values()].map((payment) => ({ payment })),
      ...[...this.#refunds.values()].map((refund) => ({ refund })),
      ...[...this.#answers.values()].map((answer) => ({ answer })),
    ];
  }
}

/** A refund of a payment, as long as nothing else is said of it. */
export function refundOf(
  payment: Payment,
  fields: Pick<Refund, 'id' | 'amount' | 'status' | 'reference' | 'createdAt'> & Partial<Refund>,
): Refund {
  const { processor, environment, account, connectedAccount, currency, id: paymentId } = payment;
  return {
    ...{
      processor,
      environment,
      account,
      connectedAccount,
      paymentId,
      currency,
      kind: 'refund',
      becomes: null,
    },
    ...{ reason: null, metadata: {}, failureReason: null },
    ...fields,
  };
}

/** True for an id that no payment has, ever. */
export function mayNotExist(id: string): boolean {
  return id.includes('missing');
}

/** True when the issuer declines every refund of the payment. */
export function declinesRefunds({ registeredAs, id }: Payment): boolean {
  return registeredAs.includes('declined') || id.includes('declined');
}

function nameOf({ processor, environment, account = '', connectedAccount = '' }: Scope, id: string): string {
  return `${processor}/${environment}/${account}/${connectedAccount}/${id}`;
}

function takenName({ processor, environment }: Scope, id: string): string {
  return `${processor}/${environment}/${id}`;
}

function sameScope(a: Scope, b: Scope): boolean {
  return (
    a.processor === b.processor &&
    a.environment === b.environment &&
    a.account === b.account &&
    a.connectedAccount === b.connectedAccount
  );
}
