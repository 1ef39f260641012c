import { toDecimal } from '../../money/money.ts';
import type { ProxySettings } from '../../platform/outgoing/proxy.ts';
import { Deadline } from '../contract/calls.ts';
import {
  absent,
  asLookupProblem,
  asProbeResult,
  asReadProblem,
  asSubmissionResult,
  emptyWindow,
  type Outcome,
  processorFailure,
  submitted,
  UnexpectedAnswerError,
  unavailable,
} from '../contract/outcome.ts';
import {
  type CallOptions,
  type CancelResult,
  isLive,
  isNamed,
  type ListingPage,
  type ListingWindow,
  type LookupResult,
  type PaymentReadResult,
  type ProbedAbility,
  type ProbeResult,
  type Processor,
  type ProcessorPayment,
  type ProcessorRefund,
  type ReadResult,
  type RefundReference,
  type RefundSubmission,
  type SubmissionResult,
  type WebhookRequest,
  type WebhookVerdict,
} from '../contract/processor.ts';
import { BraintreeClient, type BraintreeCredentials, isTransactionId, openNotifications } from './client.ts';
import { type FoundSale, findSale, isOrderId } from './find-sale.ts';
import { creditsOf, findCredits, listRefunds } from './list-refunds.ts';
import { outcomeOf, outcomeOfRefusal } from './map-error.ts';
import { orderIdOf } from './order-id.ts';
import { planRefund, unrefundable } from './plan-refund.ts';
import {
  type BraintreeTransaction,
  isRefusal,
  isVoided,
  readResult,
  readSearch,
  readTransaction,
  toRefund,
  voidAsRefund,
} from './replies.ts';
import { answerChallenge, verifyWebhook } from './verify-webhook.ts';

/** One Braintree account. */
export class BraintreeProcessor implements Processor {
  readonly #credentials: BraintreeCredentials;

  readonly #proxies: ProxySettings;

  constructor(credentials: BraintreeCredentials, proxies: ProxySettings) {
    this.#credentials = credentials;
    this.#proxies = proxies;
  }

  /** A voided sale counts as refunded in full, by a refund with the sale's id. */
  async getPayment(transactionId: string, options: CallOptions): Promise<PaymentReadResult> {
    const client = this.#client(options);
    const found = await findSale(client, transactionId);
    if (found.kind !== 'found') return found;
    const sale = found.value;
    if (sale.type !== 'sale') {
      const failure = processorFailure('not_a_payment', `${transactionId} is not a payment.`);
      return { kind: 'not-found', failure };
    }
    try {
      const refunds = (await findCredits(client, sale)).map((credit) => toRefund(credit, sale.id));
      return { kind: 'found', value: toProcessorPayment(transactionId, sale, refunds) };
    } catch (error) {
      return asReadProblem(outcomeOf(error));
    }
  }

  /**
   * Reads the sale to decide between refund and void, then sends that. Half of the time is kept for the write: a write that is
   * cut short has an unknown outcome, a read has not.
   */
  async createRefund(submission: RefundSubmission, options: CallOptions): Promise<SubmissionResult> {
    const client = this.#client(options);
    const found = await findSale(client, submission.transactionId, options.timeoutMs / 2);
    if (found.kind !== 'found') return notSent(found);
    const sale = found.value;
    const plan = planRefund(submission, sale);
    if (plan.kind === 'answer') return plan.result;
    try {
      return plan.kind === 'void'
        ? await this.#voidSale(client, sale.id, submission)
        : await this.#refundSale(client, sale.id, submission);
    } catch (error) {
      return asSubmissionResult(outcomeOf(error));
    }
  }

  /**
   * Reads the refunds listed in the sale, which are current, unlike the search index. A void does not say who made it, but when
   * the sale is voided, the customer has received what a full refund would give.
   */
  async findRefund(reference: RefundReference, options: CallOptions): Promise<LookupResult> {
    const { refundId, transactionId, amount, currency } = reference;
    const failure = processorFailure('not_found', `The payment ${transactionId} has no refund ${refundId}.`);
    if (!isTransactionId(transactionId) && !isOrderId(transactionId)) return { kind: 'not-found', failure };
    const client = this.#client(options);
    const found = await findSale(client, transactionId);
    if (found.kind === 'not-found' || found.kind === 'ambiguous') {
      return { kind: 'payment-not-found', failure: found.failure };
    }
    if (found.kind !== 'found') return found;
    const sale = found.value;
    if (
      sale.type === 'sale' &&
      isVoided(sale) &&
      sale.amountMinor === amount &&
      sale.currencyIsoCode === currency
    ) {
      return { kind: 'found', value: voidAsRefund(sale, refundId) };
    }
    try {
      const ours = (await findCredits(client, sale))
        .map((credit) => toRefund(credit, sale.id))
        .filter((refund) => isNamed(refund, reference));
      const value = ours.find(isLive) ?? ours[0];
      return value === undefined ? { kind: 'not-found', failure } : { kind: 'found', value };
    } catch (error) {
      return asLookupProblem(outcomeOf(error));
    }
  }

  async getRefund(
    externalRefundId: string,
    { refundId, transactionId }: RefundReference,
    options: CallOptions,
  ): Promise<ReadResult<ProcessorRefund>> {
    const client = this.#client(options);
    try {
      const transaction = readTransaction(await client.find(externalRefundId));
      const saleId = await saleIdOf(client, transaction, transactionId);
      if (externalRefundId !== saleId) return { kind: 'found', value: toRefund(transaction, saleId) };
      if (isVoided(transaction)) return { kind: 'found', value: voidAsRefund(transaction, refundId) };
      const message = `The payment is ${transaction.status}; no void has returned all of it.`;
      return { kind: 'not-found', failure: processorFailure('not_voided', message) };
    } catch (error) {
      return asReadProblem(outcomeOf(error));
    }
  }

  /** Credits by creation time, and voided sales by the time of the void, with the sale's id. */
  async listRefunds(window: ListingWindow, options: CallOptions): Promise<ReadResult<ListingPage>> {
    return await listRefunds((callOptions) => this.#client(callOptions), window, options);
  }

  /** Braintree voids a refund that is not settling yet. A void is final. */
  async cancelRefund(
    externalRefundId: string,
    { transactionId }: RefundReference,
    options: CallOptions,
  ): Promise<CancelResult> {
    if (externalRefundId === transactionId) {
      const message = 'The payment was voided before it had settled; a void is final.';
      return { kind: 'refused', failure: processorFailure('voided', message) };
    }
    const client = this.#client(options);
    try {
      const result = readResult(await client.void(externalRefundId));
      if (isRefusal(result)) return outcomeOfRefusal(result);
      const refund = toRefund(result, await saleIdOf(client, result, transactionId));
      if (refund.state === 'cancelled') return { kind: 'cancelled', refund };
      throw new UnexpectedAnswerError(`The voided refund is ${result.status}.`);
    } catch (error) {
      return outcomeOf(error);
    }
  }

  /**
   * A role without a permission gets 403 where a transaction that does not exist gets 404. Disputes come with their payment, so they
   * are not asked for apart.
   */
  async probe(ability: ProbedAbility, options: CallOptions): Promise<ProbeResult> {
    try {
      return asProbeResult(ability, await ask(this.#client(options), ability));
    } catch (error) {
      return asProbeResult(ability, outcomeOf(error));
    }
  }

  async ownAccountId(): Promise<string> {
    return this.#credentials.merchantId;
  }

  /** Webhooks are signed with the keys of the API. */
  readonly hasWebhookSecret = true;

  async verifyWebhook(request: WebhookRequest): Promise<WebhookVerdict> {
    return await verifyWebhook(openNotifications(this.#credentials), request);
  }

  answerChallenge(challenge: string): string | null {
    return answerChallenge(openNotifications(this.#credentials), challenge);
  }

  async #refundSale(
    client: BraintreeClient,
    saleId: string,
    submission: RefundSubmission,
  ): Promise<SubmissionResult> {
    const { amount, currency, idempotencyKey } = submission;
    const reply = await client.refund(saleId, {
      amount: toDecimal(amount, currency),
      orderId: orderIdOf(submission),
      ...(this.#credentials.useApiRequestKey ? { apiRequestKey: idempotencyKey } : {}),
    });
    const result = readResult(reply);
    if (isRefusal(result)) return asSubmissionResult(outcomeOfRefusal(result));
    return submitted(submission, toRefund(result, saleId));
  }

  async #voidSale(
    client: BraintreeClient,
    saleId: string,
    submission: RefundSubmission,
  ): Promise<SubmissionResult> {
    const { refundId, idempotencyKey } = submission;
    const reply = await client.void(saleId, this.#credentials.useApiRequestKey ? idempotencyKey : undefined);
    const result = readResult(reply);
    if (!isRefusal(result)) {
      if (result.id !== saleId || !isVoided(result)) {
        throw new UnexpectedAnswerError(`The voided payment is ${result.status}.`);
      }
      return submitted(submission, voidAsRefund(result, refundId));
    }
    // The sale has begun to settle since it was read, and the next attempt refunds it. That of a bank debit takes days.
    if (result.errors.some(({ code }) => code === '91504')) {
      return unavailable('payment_unsettled', processorFailure('unsettled', result.message));
    }
    return asSubmissionResult(outcomeOfRefusal(result));
  }

  #client(options: CallOptions): BraintreeClient {
    return new BraintreeClient(this.#credentials, new Deadline(options), this.#proxies);
  }
}

/** One request of a probe. @throws what the SDK throws, which includes that nothing was found. */
async function ask(client: BraintreeClient, ability: ProbedAbility): Promise<Outcome | { kind: 'found' }> {
  switch (ability) {
    case 'readPayments':
    case 'disputes':
      await client.find(absent);
      return { kind: 'found' };
    case 'list':
      readSearch(await client.searchIds(creditsOf(emptyWindow)));
      return { kind: 'found' };
    case 'refund':
    case 'cancel': {
      const orderId = absent;
      const result = readResult(
        ability === 'refund'
          ? await client.refund(absent, { amount: '0.01', orderId })
          : await client.void(absent),
      );
      return isRefusal(result) ? outcomeOfRefusal(result) : { kind: 'found' };
    }
  }
}

/** The answer to a submission whose sale could not be read; nothing has been sent yet, so no outcome is unknown. */
function notSent(problem: Exclude<FoundSale, { kind: 'found' }>): SubmissionResult {
  switch (problem.kind) {
    case 'misconfigured':
      return { ...problem, ability: 'readPayments' };
    case 'not-found':
      return { ...problem, kind: 'rejected', missing: true };
    case 'ambiguous':
      return { kind: 'rejected', failure: problem.failure };
    default:
      return problem;
  }
}

/**
 * The id of the sale that a transaction has to belong to, or be.
 * @param transactionId any id of the sale: another name than its own takes a search.
 */
async function saleIdOf(
  client: BraintreeClient,
  { id, type, refundedTransactionId }: BraintreeTransaction,
  transactionId: string,
): Promise<string> {
  const own = type === 'sale' ? id : refundedTransactionId;
  if (own === transactionId) return transactionId;
  const found = await findSale(client, transactionId);
  return found.kind === 'found' ? found.value.id : transactionId;
}

/** @param requestedId any id of the sale. */
function toProcessorPayment(
  requestedId: string,
  sale: BraintreeTransaction,
  credits: ProcessorRefund[],
): ProcessorPayment {
  const chargedAt = new Date(sale.createdAt ?? '');
  if (Number.isNaN(chargedAt.getTime())) throw new UnexpectedAnswerError(`${sale.id} has no creation time.`);
  const refunds = isVoided(sale) ? [...credits, voidAsRefund(sale, null)] : credits;
  return {
    transactionIds: [...new Set([sale.id, requestedId])],
    amount: sale.amountMinor,
    currency: sale.currencyIsoCode,
    chargedAt,
    refunds,
    unrefundable: unrefundable(sale),
    ...{ hasTransfer: false, transferDestination: null, applicationFee: false },
  };
}
