import type { RefundStatus, SandboxProcessor } from '../processor.ts';
import { type Journal, openJournal, readJournal } from './journal.ts';

export type Environment = 'test' | 'live';

/** Ids are unique within a scope. */
export interface Scope {
  processor: string;
  environment: Environment;
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
}

export interface Refund extends Scope {
  id: string;
  paymentId: string;
  /** A void is a Braintree sale that was voided before it settled; it has no credit. */
  kind: 'refund' | 'void';
  amount: number;
  currency: string;
  status: string;
  /** The caller's id of the refund: Stripe metadata.refund_id, Braintree order id. */
  reference: string;
  createdAt: number;
  /** True once the control API has set the status, so that it no longer settles. */
  driven: boolean;
  reason: string | null;
  metadata: Record<string, string>;
  failureReason: string | null;
}

/** What an idempotency key stands for. */
export interface KeyedAnswer {
  account: string;
  key: string;
  fingerprint: string;
  /** Stripe replays bytes. */
  answer: { status: number; body: string; requestId: string } | null;
  /** Braintree answers with the transaction as it is now; null when the first request was rejected. */
  transactionId: string | null;
}

export interface Settings {
  autoSettleMs: number | null;
  latencyMs: number;
  /** Receivers, each of the events of one account. */
  webhooks: WebhookEndpoint[];
}

/** Where an account's events go, and what they are signed with. */
export type WebhookEndpoint = Scope & { url: string } & Record<string, string>;

type Entry = { payment: Payment } | { refund: Refund } | { keyed: KeyedAnswer } | { settings: Settings };

export class Ledger {
  #settings: Settings = { autoSettleMs: 1500, latencyMs: 0, webhooks: [] };
  readonly #payments = new Map<string, Payment>();
  readonly #refunds = new Map<string, Refund>();
  readonly #refundsByPayment = new Map<string, Set<string>>();
  readonly #refundedByPayment = new Map<string, number>();
  readonly #unsettled = new Set<string>();
  readonly #keyed = new Map<string, KeyedAnswer>();
  readonly #journal: Journal | null;
  readonly #statuses: ReadonlyMap<string, Readonly<Record<string, RefundStatus>>>;
  #pending: Entry[] = [];
  #depth = 0;

  constructor(processors: readonly SandboxProcessor[], dataFile?: string) {
    this.#statuses = new Map(processors.map(({ name, refundStatuses }) => [name, refundStatuses]));
    if (dataFile === undefined) {
      this.#journal = null;
      return;
    }
    for (const entry of readJournal(dataFile)) this.#apply(entry as Entry);
    this.#journal = openJournal(dataFile, this.#snapshot());
  }

  /** Writes all of `change` to the journal as one line. */
  transact<T>(change: () => T): T {
    this.#depth += 1;
    try {
      return change();
    } finally {
      this.#depth -= 1;
      this.#flush();
    }
  }

  get settings(): Settings {
    return this.#settings;
  }

  changeSettings(settings: Settings): void {
    this.#write({ settings });
  }

  payment(scope: Scope, id: string): Payment | undefined {
    return this.#payments.get(nameOf(scope, id));
  }

  refund(scope: Scope, id: string): Refund | undefined {
    return this.#refunds.get(nameOf(scope, id));
  }

  payments(scope: Scope): Payment[] {
    return [...this.#payments.values()].filter((payment) => sameScope(payment, scope));
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
    return this.#refundedByPayment.get(nameOf(payment, payment.id)) ?? 0;
  }

  /** Oldest first. */
  *unsettledRefunds(): Iterable<Refund> {
    for (const name of this.#unsettled) {
      const refund = this.#refunds.get(name);
      if (refund) yield refund;
    }
  }

  keyedAnswer(account: string, key: string): KeyedAnswer | undefined {
    return this.#keyed.get(`${account} ${key}`);
  }

  putPayment(payment: Payment): void {
    this.#write({ payment });
  }

  putRefund(refund: Refund): void {
    this.#write({ refund });
  }

  putKeyedAnswer(keyed: KeyedAnswer): void {
    this.#write({ keyed });
  }

  /** Runs `action` once everything so far is in the journal. */
  onceWritten(action: () => void): void {
    if (this.#journal === null) action();
    else this.#journal.onceWritten(action);
  }

  close(): void {
    this.#journal?.close();
  }

  #write(entry: Entry): void {
    this.#apply(entry);
    this.#pending.push(entry);
    if (this.#depth === 0) this.#flush();
  }

  #flush(): void {
    if (this.#depth > 0 || this.#pending.length === 0) return;
    this.#journal?.append(this.#pending);
    this.#pending = [];
  }

  #apply(entry: Entry): void {
    // A journal may be older than a setting.
    if ('settings' in entry) this.#settings = { ...this.#settings, ...entry.settings };
    else if ('payment' in entry) this.#payments.set(nameOf(entry.payment, entry.payment.id), entry.payment);
    else if ('keyed' in entry) this.#keyed.set(`${entry.keyed.account} ${entry.keyed.key}`, entry.keyed);
    else this.#applyRefund(entry.refund);
  }

  #applyRefund(refund: Refund): void {
    const name = nameOf(refund, refund.id);
    const previous = this.#refunds.get(name);
    this.#refunds.set(name, refund);
    if (this.settlesTo(refund) === null) this.#unsettled.delete(name);
    else this.#unsettled.add(name);
    const paymentName = nameOf(refund, refund.paymentId);
    const siblings = this.#refundsByPayment.get(paymentName) ?? new Set();
    this.#refundsByPayment.set(paymentName, siblings.add(name));
    const refunded = this.#refundedByPayment.get(paymentName) ?? 0;
    this.#refundedByPayment.set(
      paymentName,
      refunded + this.#refundedBy(refund) - this.#refundedBy(previous),
    );
  }

  /** The status to which the refund will settle; null when it stays as it is. */
  settlesTo(refund: Refund): string | null {
    return refund.driven ? null : (this.#meaning(refund).settlesTo ?? null);
  }

  /** How much of its payment a refund takes. */
  #refundedBy(refund: Refund | undefined): number {
    return refund === undefined || this.#meaning(refund).isReturned ? 0 : refund.amount;
  }

  #meaning({ processor, status }: Refund): RefundStatus {
    return this.#statuses.get(processor)?.[status] ?? {};
  }

  #snapshot(): Entry[] {
    return [
      { settings: this.#settings },
      ...[...this.#payments.values()].map((payment) => ({ payment })),
      ...[...this.#refunds.values()].map((refund) => ({ refund })),
      ...[...this.#keyed.values()].map((keyed) => ({ keyed })),
    ];
  }
}

function nameOf(scope: Scope, id: string): string {
  return `${scope.processor}/${scope.environment}/${id}`;
}

function sameScope(a: Scope, b: Scope): boolean {
  return a.processor === b.processor && a.environment === b.environment;
}
