import { formatAmount } from '../money/money.ts';
import { remainingOf } from '../payments/payment.ts';
import { serviceTime } from '../platform/database.ts';
import { isLive, type ListedRefund } from '../processors/contract/processor.ts';
import { recordPayment } from '../refunds/lifecycle/record-payment.ts';
import { recordFinding } from './act.ts';
import { askPatiently, type RunContext } from './ask-patiently.ts';
import { findRecordedPayments } from './find-ours.ts';
import { elsewhereSentence, unrecordedSentence } from './sentences.ts';

/** Refunds that were not made here, over a whole run. */
export class MadeElsewhere {
  readonly #context: RunContext;
  /** What is left of each payment that was read: once in a run is enough, it tells all refunds. */
  readonly #read = new Map<string, string | null>();
  #unrecordedCount = 0;
  #firstUnrecorded: ListedRefund | null = null;

  constructor(context: RunContext) {
    this.#context = context;
  }

  /**
   * Reads the payments of refunds again that moved money elsewhere, so that what can still be refunded is right. A payment
   * that is not on record needs nothing: it is read when it is first needed.
   */
  async add(theirs: readonly ListedRefund[]): Promise<void> {
    const live = theirs.filter(isLive);
    if (live.length === 0) return;
    const { deps, account } = this.#context;
    const recorded = await findRecordedPayments(
      deps,
      account,
      live.flatMap(({ transactionIds }) => transactionIds),
    );
    for (const refund of live) {
      const payments = refund.transactionIds.filter((id) => recorded.has(id));
      if (payments.length === 0) this.#addUnrecorded(refund);
      for (const transactionId of payments) await this.#addRecorded(refund, transactionId);
    }
  }

  /** Puts those whose payments are not on record on record as one. */
  async finish(): Promise<void> {
    if (this.#firstUnrecorded === null) return;
    const { account } = this.#context;
    await recordFinding(
      this.#context,
      {
        kind: 'made_elsewhere_unrecorded',
        refundId: null,
        transactionId: null,
        externalRefundId: null,
        message: unrecordedSentence(account.processor, this.#unrecordedCount, this.#firstUnrecorded),
      },
      'nothing',
    );
  }

  /** Reads a payment again, once in a run. @returns what can still be refunded of it; null when it cannot be found. */
  async readAgain(transactionId: string): Promise<string | null> {
    const known = this.#read.get(transactionId);
    if (known !== undefined) return known;
    const left = await readPayment(this.#context, transactionId);
    this.#read.set(transactionId, left);
    return left;
  }

  #addUnrecorded(refund: ListedRefund): void {
    this.#unrecordedCount += 1;
    this.#firstUnrecorded ??= refund;
  }

  async #addRecorded(refund: ListedRefund, transactionId: string): Promise<void> {
    const left = await this.readAgain(transactionId);
    const { processor } = this.#context.account;
    const message = elsewhereSentence(processor, refund, left);
    await recordFinding(
      this.#context,
      { kind: 'made_elsewhere', refundId: null, transactionId, externalRefundId: refund.id, message },
      left === null ? 'nothing' : 'payment_read',
    );
  }
}

async function readPayment(context: RunContext, transactionId: string): Promise<string | null> {
  const { deps, account, processor } = context;
  const readAt = await serviceTime(deps.db);
  const answer = await askPatiently(context, (options) => processor.getTransaction(transactionId, options));
  if (answer.kind === 'not-found') return null;
  const payment = await recordPayment(deps.db, { ...account, transactionId }, answer.value, readAt);
  return formatAmount(remainingOf(payment) ?? 0n, payment.currency ?? answer.value.currency);
}
