import type Stripe from 'stripe';
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
import { amountProblem, toStripeAmount } from './amounts.ts';
import { isNameOfPayment, isPaymentId, isRefundId, paymentParameter, type StripeAccess } from './client.ts';
import { listRefunds } from './list-refunds.ts';
import { outcomeOf } from './map-error.ts';
import { probe } from './probe.ts';
import {
  readAccountId,
  readCharge,
  readIsChargedBack,
  readLatestCharge,
  readRefund,
  readRefundPage,
  type StripeCharge,
  toPayment,
} from './replies.ts';
import { type ResolvedPayment, resolvePayment } from './resolve-payment.ts';
import { verifyWebhook } from './verify-webhook.ts';

const pageSize = 100;
const mostPages = 20;

/** One Stripe account, or one account that is connected to it. */
export class StripeProcessor implements Processor {
  readonly #access: StripeAccess;
  readonly #webhookSecrets: readonly string[];

  constructor(access: StripeAccess, webhookSecrets: readonly string[]) {
    this.#access = access;
    this.#webhookSecrets = webhookSecrets;
  }

  async getPayment(transactionId: string, options: CallOptions): Promise<PaymentReadResult> {
    const deadline = new Deadline(options);
    const payment = await this.#resolve(transactionId, deadline);
    if (payment.kind !== 'resolved') return payment;
    return await this.#readPayment(payment.payment, deadline);
  }

  async createRefund(submission: RefundSubmission, options: CallOptions): Promise<SubmissionResult> {
    const { transactionId, amount, currency } = submission;
    const problem = amountProblem(amount, currency);
    if (problem !== null) return { kind: 'rejected', failure: processorFailure('invalid_amount', problem) };
    const deadline = new Deadline(options);
    // Half of the time is kept for the write: a write that is cut short has an unknown outcome, a read has not.
    const reading = new Deadline({ ...options, timeoutMs: options.timeoutMs / 2 });
    const payment = await this.#resolve(transactionId, reading);
    if (payment.kind !== 'resolved') return notSent(payment);
    try {
      const reply = await this.#access.stripe.refunds.create(refundParameters(submission, payment.payment), {
        idempotencyKey: submission.idempotencyKey,
        ...this.#access.within(deadline),
      });
      return submitted(submission, readRefund(reply));
    } catch (error) {
      return asSubmissionResult(outcomeOf(error));
    }
  }

  async findRefund(reference: RefundReference, options: CallOptions): Promise<LookupResult> {
    const { refundId, transactionId } = reference;
    const failure = processorFailure('not_found', `The payment ${transactionId} has no refund ${refundId}.`);
    if (!isPaymentId(transactionId) && !isNameOfPayment(transactionId)) return { kind: 'not-found', failure };
    const deadline = new Deadline(options);
    const payment = await this.#resolve(transactionId, deadline);
    if (payment.kind === 'not-found' || payment.kind === 'ambiguous') {
      return { kind: 'payment-not-found', failure: payment.failure };
    }
    if (payment.kind !== 'resolved') return payment;
    try {
      const refunds = await this.#listRefunds(payment.payment.id, deadline);
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
      const reply = await this.#access.stripe.refunds.retrieve(
        externalRefundId,
        {},
        this.#access.within(new Deadline(options)),
      );
      return { kind: 'found', value: readRefund(reply) };
    } catch (error) {
      return asReadProblem(outcomeOf(error));
    }
  }

  async listRefunds(window: ListingWindow, options: CallOptions): Promise<ReadResult<ListingPage>> {
    return await listRefunds(this.#access, window, null, options);
  }

  /** Stripe only cancels refunds that wait for the customer. */
  async cancelRefund(
    externalRefundId: string,
    _reference: RefundReference,
    options: CallOptions,
  ): Promise<CancelResult> {
    if (!isRefundId(externalRefundId)) return { kind: 'refused', failure: noSuchRefund(externalRefundId) };
    try {
      const reply = await this.#access.stripe.refunds.cancel(
        externalRefundId,
        {},
        this.#access.within(new Deadline(options)),
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
    return await probe(this.#access, ability, options);
  }

  async ownAccountId(options: CallOptions): Promise<string | null> {
    try {
      const access = this.#access.within(new Deadline(options));
      return readAccountId(await this.#access.stripe.accounts.retrieveCurrent({}, access));
    } catch {
      return null;
    }
  }

  get hasWebhookSecret(): boolean {
    return this.#webhookSecrets.length > 0;
  }

  async verifyWebhook(request: WebhookRequest): Promise<WebhookVerdict> {
    return verifyWebhook(this.#webhookSecrets, request);
  }

  /** Stripe sends no challenges. */
  answerChallenge(): null {
    return null;
  }

  /** Nothing is asked for the id of a charge or a payment intent. */
  async #resolve(transactionId: string, deadline: Deadline) {
    try {
      return await resolvePayment(this.#access, deadline, transactionId);
    } catch (error) {
      const problem = asReadProblem(outcomeOf(error));
      // Credentials that may not read sessions or invoices may still read every payment.
      return problem.kind === 'misconfigured' && problem.scope === 'ability'
        ? { ...problem, scope: 'object' as const }
        : problem;
    }
  }

  async #readPayment(payment: ResolvedPayment, deadline: Deadline): Promise<ReadResult<ProcessorPayment>> {
    const { id } = payment;
    let ability: Ability = 'readPayments';
    try {
      const charge = await this.#readCharge(id, deadline);
      if (charge === null) {
        const message = `The payment intent ${id} has no charge: nothing has been paid.`;
        return { kind: 'not-found', failure: processorFailure('no_charge', message) };
      }
      ability = 'list';
      // Without a refunded amount there are only failed and cancelled refunds, which are not needed.
      const refunds = charge.amount_refunded === 0 ? [] : await this.#listRefunds(id, deadline);
      const disputes = charge.disputed ? await this.#readDisputes(charge.id, deadline) : null;
      const value = toPayment(payment, charge, refunds, disputes?.isChargedBack === true);
      return { kind: 'found', value: { ...value, ...(disputes && { disputes: disputes.reading }) } };
    } catch (error) {
      const problem = asReadProblem(outcomeOf(error));
      return problem.kind === 'misconfigured' ? { ...problem, ability } : problem;
    }
  }

  async #readCharge(transactionId: string, deadline: Deadline): Promise<StripeCharge | null> {
    if (!transactionId.startsWith('pi_')) return await this.#retrieveCharge(transactionId, deadline);
    const reply = await this.#access.stripe.paymentIntents.retrieve(
      transactionId,
      { expand: ['latest_charge'] },
      this.#access.within(deadline),
    );
    const latest = readLatestCharge(reply);
    return typeof latest === 'string' ? await this.#retrieveCharge(latest, deadline) : latest;
  }

  async #retrieveCharge(chargeId: string, deadline: Deadline): Promise<StripeCharge> {
    return readCharge(
      await this.#access.stripe.charges.retrieve(chargeId, {}, this.#access.within(deadline)),
    );
  }

  /** Without the permission to read disputes, Stripe decides when the refund is sent. */
  async #readDisputes(
    charge: string,
    deadline: Deadline,
  ): Promise<{ reading: ProbeResult; isChargedBack: boolean }> {
    const ability = 'disputes';
    try {
      const asked = { charge, limit: pageSize };
      const disputes = await this.#access.stripe.disputes.list(asked, this.#access.within(deadline));
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
      const reply = await this.#access.stripe.refunds.list(
        {
          ...paymentParameter(transactionId),
          limit: pageSize,
          ...(last === undefined ? {} : { starting_after: last.id }),
        },
        this.#access.within(deadline),
      );
      const { refunds: more, hasMore } = readRefundPage(reply);
      refunds.push(...more);
      if (!hasMore) return refunds;
    }
    throw new UnexpectedAnswerError(`${transactionId} has more than ${mostPages * pageSize} refunds.`);
  }
}

/** What is sent for a refund: the same on every attempt. */
function refundParameters(submission: RefundSubmission, { id }: ResolvedPayment): Stripe.RefundCreateParams {
  const { amount, currency, reason, metadata, refundId, requestDigest, organizationId, options } = submission;
  const { reverseTransfer, refundApplicationFee, instructionsEmail } = options;
  return {
    ...paymentParameter(id),
    amount: toStripeAmount(amount, currency),
    // Never `fraudulent`, which also puts the customer's card and email on Stripe's block lists.
    reason: reason === 'duplicate_charge' ? 'duplicate' : 'requested_by_customer',
    ...(reverseTransfer !== undefined && { reverse_transfer: reverseTransfer }),
    ...(refundApplicationFee !== undefined && { refund_application_fee: refundApplicationFee }),
    ...(instructionsEmail !== undefined && { instructions_email: instructionsEmail }),
    metadata: {
      ...metadata,
      refund_id: refundId,
      ...(requestDigest === null ? {} : { request_digest: requestDigest }),
      refund_organization: organizationId,
    },
  };
}

/** The answer to a submission whose payment cannot be told: nothing has been sent, so no outcome is unknown. */
function notSent(problem: Exclude<PaymentReadResult, { kind: 'found' }>): SubmissionResult {
  switch (problem.kind) {
    case 'not-found':
    case 'ambiguous': {
      const { failure } = problem;
      const isMissing = failure.code === 'resource_missing';
      return { kind: 'rejected', failure, ...(isMissing && { missing: true }) };
    }
    default:
      return problem;
  }
}

function noSuchRefund(id: string) {
  return processorFailure('invalid_id', `${id} is not the id of a Stripe refund.`);
}
