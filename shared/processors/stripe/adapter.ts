import type Stripe from 'stripe';
import type { ProxySettings } from '../../platform/outgoing/proxy.ts';
import { Deadline } from '../contract/calls.ts';
import {
  asLookupProblem,
  asReadProblem,
  asSubmissionResult,
  processorFailure,
  submitted,
  UnexpectedAnswerError,
} from '../contract/outcome.ts';
import {
  type Ability,
  type CallOptions,
  type CancelResult,
  isLive,
  isNamed,
  type ListingPage,
  type ListingWindow,
  type LookupResult,
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
import { amountProblem, toStripeAmount } from './amounts.ts';
import { isPaymentId, isRefundId, paymentParameter, type StripeCredentials, stripeClient } from './client.ts';
import { listRefunds } from './list-refunds.ts';
import { outcomeOf } from './map-error.ts';
import { probe } from './probe.ts';
import {
  readCharge,
  readIsChargedBack,
  readLatestCharge,
  readRefund,
  readRefundPage,
  type StripeCharge,
  toPayment,
} from './replies.ts';
import { verifyWebhook } from './verify-webhook.ts';

const pageSize = 100;
const mostPages = 20;

/** One Stripe account. */
export class StripeProcessor implements Processor {
  readonly #stripe: Stripe;
  readonly #webhookSecret: string | null;

  constructor(credentials: StripeCredentials, proxies: ProxySettings) {
    this.#stripe = stripeClient(credentials, proxies);
    this.#webhookSecret = credentials.webhookSecret ?? null;
  }

  async getPayment(transactionId: string, options: CallOptions): Promise<ReadResult<ProcessorPayment>> {
    if (!isPaymentId(transactionId)) return { kind: 'not-found', failure: noSuchPayment(transactionId) };
    const deadline = new Deadline(options);
    let ability: Ability = 'readPayments';
    try {
      const charge = await this.#readCharge(transactionId, deadline);
      if (charge === null) {
        const message = `The payment intent ${transactionId} has no charge: nothing has been paid.`;
        return { kind: 'not-found', failure: processorFailure('no_charge', message) };
      }
      ability = 'list';
      // Without a refunded amount there are only failed and cancelled refunds, which are not needed.
      const refunds = charge.amount_refunded === 0 ? [] : await this.#listRefunds(transactionId, deadline);
      const disputes = charge.disputed ? await this.#readDisputes(charge.id, deadline) : null;
      const payment = toPayment(transactionId, charge, refunds, disputes?.isChargedBack === true);
      return { kind: 'found', value: { ...payment, ...(disputes && { disputes: disputes.reading }) } };
    } catch (error) {
      const problem = asReadProblem(outcomeOf(error));
      return problem.kind === 'misconfigured' ? { ...problem, ability } : problem;
    }
  }

  async createRefund(submission: RefundSubmission, options: CallOptions): Promise<SubmissionResult> {
    const { transactionId, amount, currency, reason, metadata, refundId, requestDigest, idempotencyKey } =
      submission;
    if (!isPaymentId(transactionId)) return { kind: 'rejected', failure: noSuchPayment(transactionId) };
    const problem = amountProblem(amount, currency);
    if (problem !== null) return { kind: 'rejected', failure: processorFailure('invalid_amount', problem) };
    try {
      const reply = await this.#stripe.refunds.create(
        {
          ...paymentParameter(transactionId),
          amount: toStripeAmount(amount, currency),
          // Never `fraudulent`, which also puts the customer's card and email on Stripe's block lists.
          reason: reason === 'duplicate_charge' ? 'duplicate' : 'requested_by_customer',
          metadata: {
            ...metadata,
            refund_id: refundId,
            ...(requestDigest === null ? {} : { request_digest: requestDigest }),
          },
        },
        { idempotencyKey, timeout: new Deadline(options).remainingMs() },
      );
      return submitted(submission, readRefund(reply));
    } catch (error) {
      return asSubmissionResult(outcomeOf(error));
    }
  }

  async findRefund(reference: RefundReference, options: CallOptions): Promise<LookupResult> {
    const { refundId, transactionId } = reference;
    const failure = processorFailure('not_found', `The payment ${transactionId} has no refund ${refundId}.`);
    if (!isPaymentId(transactionId)) return { kind: 'not-found', failure };
    try {
      const refunds = await this.#listRefunds(transactionId, new Deadline(options));
      const ours = refunds.filter((refund) => isNamed(refund, reference));
      const value = ours.find(isLive) ?? ours[0];
      return value === undefined ? { kind: 'not-found', failure } : { kind: 'found', value };
    } catch (error) {
      return asLookupProblem(outcomeOf(error));
    }
  }

  async getRefund(
    externalRefundId: string,
    _reference: RefundReference,
    options: CallOptions,
  ): Promise<ReadResult<ProcessorRefund>> {
    if (!isRefundId(externalRefundId)) return { kind: 'not-found', failure: noSuchRefund(externalRefundId) };
    try {
      const reply = await this.#stripe.refunds.retrieve(
        externalRefundId,
        {},
        { timeout: new Deadline(options).remainingMs() },
      );
      return { kind: 'found', value: readRefund(reply) };
    } catch (error) {
      return asReadProblem(outcomeOf(error));
    }
  }

  async listRefunds(window: ListingWindow, options: CallOptions): Promise<ReadResult<ListingPage>> {
    return await listRefunds(this.#stripe, window, null, options);
  }

  /** Stripe only cancels refunds that wait for the customer. */
  async cancelRefund(
    externalRefundId: string,
    _reference: RefundReference,
    options: CallOptions,
  ): Promise<CancelResult> {
    if (!isRefundId(externalRefundId)) return { kind: 'refused', failure: noSuchRefund(externalRefundId) };
    try {
      const reply = await this.#stripe.refunds.cancel(
        externalRefundId,
        {},
        { timeout: new Deadline(options).remainingMs() },
      );
      const refund = readRefund(reply);
      if (refund.state !== 'cancelled') {
        throw new UnexpectedAnswerError(`The cancelled refund is ${refund.processorStatus}.`);
      }
      return { kind: 'cancelled', refund };
    } catch (error) {
      return outcomeOf(error);
    }
  }

  async probe(ability: ProbedAbility, options: CallOptions): Promise<ProbeResult> {
    return await probe(this.#stripe, ability, options);
  }

  get hasWebhookSecret(): boolean {
    return this.#webhookSecret !== null;
  }

  async verifyWebhook(request: WebhookRequest): Promise<WebhookVerdict> {
    return verifyWebhook(this.#webhookSecret, request);
  }

  /** Stripe sends no challenges. */
  answerChallenge(): null {
    return null;
  }

  async #readCharge(transactionId: string, deadline: Deadline): Promise<StripeCharge | null> {
    if (!transactionId.startsWith('pi_')) return await this.#retrieveCharge(transactionId, deadline);
    const reply = await this.#stripe.paymentIntents.retrieve(
      transactionId,
      { expand: ['latest_charge'] },
      { timeout: deadline.remainingMs() },
    );
    const latest = readLatestCharge(reply);
    return typeof latest === 'string' ? await this.#retrieveCharge(latest, deadline) : latest;
  }

  async #retrieveCharge(chargeId: string, deadline: Deadline): Promise<StripeCharge> {
    const timeout = deadline.remainingMs();
    return readCharge(await this.#stripe.charges.retrieve(chargeId, {}, { timeout }));
  }

  /** Without the permission to read disputes, Stripe decides when the refund is sent. */
  async #readDisputes(
    charge: string,
    deadline: Deadline,
  ): Promise<{ reading: ProbeResult; isChargedBack: boolean }> {
    const ability = 'disputes';
    try {
      const timeout = deadline.remainingMs();
      const disputes = await this.#stripe.disputes.list({ charge, limit: pageSize }, { timeout });
      return { reading: { kind: 'permitted', ability }, isChargedBack: readIsChargedBack(disputes) };
    } catch (error) {
      const outcome = outcomeOf(error);
      if (outcome.kind !== 'misconfigured') throw error;
      return { reading: { ...outcome, ability }, isChargedBack: false };
    }
  }

  /** All refunds of a payment; an incomplete list would prove nothing. */
  async #listRefunds(transactionId: string, deadline: Deadline): Promise<ProcessorRefund[]> {
    const refunds: ProcessorRefund[] = [];
    for (let page = 0; page < mostPages; page++) {
      const last = refunds.at(-1);
      const reply = await this.#stripe.refunds.list(
        {
          ...paymentParameter(transactionId),
          limit: pageSize,
          ...(last === undefined ? {} : { starting_after: last.id }),
        },
        { timeout: deadline.remainingMs() },
      );
      const { refunds: more, hasMore } = readRefundPage(reply);
      refunds.push(...more);
      if (!hasMore) return refunds;
    }
    throw new UnexpectedAnswerError(`${transactionId} has more than ${mostPages * pageSize} refunds.`);
  }
}

function noSuchPayment(id: string) {
  return processorFailure('invalid_id', `${id} is not the id of a Stripe payment.`);
}

function noSuchRefund(id: string) {
  return processorFailure('invalid_id', `${id} is not the id of a Stripe refund.`);
}
