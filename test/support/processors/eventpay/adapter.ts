import { createHmac, timingSafeEqual } from 'node:crypto';
import { z } from 'zod';
import { isId } from '#shared/platform/ids.ts';
import { Deadline } from '#shared/processors/contract/calls.ts';
import {
  absent,
  asProbeResult,
  asReadProblem,
  asSubmissionResult,
  type Outcome,
  ownOutcome,
  processorFailure,
  readAnswer,
  recordedId,
  recordedStatus,
  submitted,
  unavailable,
} from '#shared/processors/contract/outcome.ts';
import type {
  CallOptions,
  CancelResult,
  ProbedAbility,
  ProbeResult,
  Processor,
  ProcessorPayment,
  ProcessorRefund,
  ProcessorRefundState,
  ReadResult,
  RefundSubmission,
  SubmissionResult,
  Unavailable,
  WebhookRequest,
  WebhookVerdict,
} from '#shared/processors/contract/processor.ts';

export interface EventpayCredentials {
  account: string;
  secret: string;
  apiBase: string;
}

const refundReply = z.object({
  id: recordedId,
  amount: z.int().nonnegative(),
  currency: z.string(),
  status: recordedStatus,
});

const paymentReply = z.object({
  id: recordedId,
  amount: z.int().nonnegative(),
  currency: z.string(),
  paid_at: z.coerce.date(),
  refunds: z.array(refundReply),
});

const failureReply = z.object({ code: z.string(), message: z.string() });

const eventBody = z.object({
  id: recordedId,
  at: z.coerce.date(),
  environment: z.enum(['test', 'live']),
  refund: z.object({ id: recordedId, status: recordedStatus, reference: z.string(), payment: recordedId }),
});

/** One account at Eventpay. */
export class EventpayProcessor implements Processor {
  readonly #credentials: EventpayCredentials;

  constructor(credentials: EventpayCredentials) {
    this.#credentials = credentials;
  }

  async getPayment(transactionId: string, options: CallOptions): Promise<ReadResult<ProcessorPayment>> {
    try {
      const path = `/eventpay/payments/${encodeURIComponent(transactionId)}`;
      const reply = readAnswer(paymentReply, await this.#call('GET', path, '', options));
      const { id, amount, currency, paid_at: chargedAt, refunds } = reply;
      const value = { transactionIds: [id], amount: BigInt(amount), currency, chargedAt, unrefundable: null };
      return { kind: 'found', value: { ...value, refunds: refunds.map((refund) => toRefund(refund, null)) } };
    } catch (error) {
      return asReadProblem(outcomeOf(error));
    }
  }

  async createRefund(submission: RefundSubmission, options: CallOptions): Promise<SubmissionResult> {
    const { transactionId: payment, amount, currency, refundId: reference } = submission;
    try {
      const body = JSON.stringify({ payment, amount: Number(amount), currency, reference });
      const reply = readAnswer(refundReply, await this.#call('POST', '/eventpay/refunds', body, options));
      return submitted(submission, toRefund(reply, reference));
    } catch (error) {
      return asSubmissionResult(outcomeOf(error));
    }
  }

  // The core does not ask for what the capabilities leave out.
  findRefund = notOffered;
  getRefund = notOffered;
  listRefunds = notOffered;

  async cancelRefund(): Promise<CancelResult> {
    return { kind: 'refused', failure: (await notOffered()).failure };
  }

  async probe(ability: ProbedAbility, options: CallOptions): Promise<ProbeResult> {
    try {
      if (ability === 'readPayments') {
        await this.#call('GET', `/eventpay/payments/ep_${absent}`, '', options);
      } else if (ability === 'refund') {
        const body = JSON.stringify({
          payment: `ep_${absent}`,
          amount: 1,
          currency: 'usd',
          reference: absent,
        });
        await this.#call('POST', '/eventpay/refunds', body, options);
      } else {
        return await notOffered();
      }
      return asProbeResult(ability, { kind: 'found' });
    } catch (error) {
      return asProbeResult(ability, outcomeOf(error));
    }
  }

  readonly hasWebhookSecret = true;

  async verifyWebhook({ body, headers }: WebhookRequest): Promise<WebhookVerdict> {
    const given = Buffer.from(String(headers['eventpay-signature'] ?? ''));
    const expected = Buffer.from(this.#sign(body));
    if (given.length !== expected.length || !timingSafeEqual(given, expected)) {
      return { kind: 'not-verified', reason: 'the signature does not fit', isSigned: true };
    }
    try {
      const {
        id: externalEventId,
        at: occurredAt,
        environment,
        refund,
      } = eventBody.parse(JSON.parse(`${body}`));
      const subject = {
        refundId: isId('ref', refund.reference) ? refund.reference : null,
        ...{ externalRefundId: refund.id, processorStatus: refund.status },
        ...{ refundedAmount: null, transactionIds: [refund.payment] },
      };
      const event = { externalEventId, type: `refund.${refund.status}`, occurredAt, environment, subject };
      return { kind: 'verified', event };
    } catch {
      return { kind: 'not-verified', reason: 'the body is not an event', isSigned: false };
    }
  }

  answerChallenge(): null {
    return null;
  }

  /** One request. @returns the body of a success. @throws RefusedError, and what the network throws. */
  async #call(method: string, path: string, body: string, options: CallOptions): Promise<unknown> {
    const { account, apiBase } = this.#credentials;
    const abort = new AbortController();
    const headers = { 'eventpay-account': account, 'eventpay-signature': this.#sign(body || path) };
    const request = { method, headers, redirect: 'manual', signal: abort.signal } as const;
    return await new Deadline(options).guard(
      async () => {
        const response = await fetch(`${apiBase}${path}`, body === '' ? request : { ...request, body });
        const text = await response.text();
        if (!response.ok) throw new RefusedError(response.status, text);
        return JSON.parse(text);
      },
      { abandon: () => abort.abort() },
    );
  }

  #sign(text: string | Buffer): string {
    return createHmac('sha256', this.#credentials.secret).update(text).digest('hex');
  }
}

/** An answer with the status of a failure. */
class RefusedError extends Error {
  readonly status: number;
  readonly body: string;

  constructor(status: number, body: string) {
    super(`Eventpay answered with ${status}.`);
    this.status = status;
    this.body = body;
  }
}

const notSent = new Set(['ECONNREFUSED', 'ENOTFOUND', 'EAI_AGAIN']);

/** What a failed call means: only a connection that was never made, and a refusal, are certainly without effect. */
function outcomeOf(error: unknown): Outcome {
  const own = ownOutcome(error);
  if (own !== null) return own;
  if (error instanceof RefusedError) return outcomeOfRefusal(error);
  const cause = error instanceof Error ? (error.cause as { code?: string } | undefined) : undefined;
  if (notSent.has(cause?.code ?? '')) {
    return unavailable('unreachable', processorFailure('connection_error', String(error)));
  }
  return { kind: 'unknown', failure: processorFailure('no_answer', String(error)) };
}

function outcomeOfRefusal({ status, body }: RefusedError): Outcome {
  const { code, message } = failureOf(body);
  const failure = processorFailure(code, message);
  if (status === 401) return { kind: 'misconfigured', scope: 'credentials', failure };
  if (status === 403) return { kind: 'misconfigured', scope: 'ability', failure };
  if (status === 404 || status === 422) return { kind: 'refused', failure, missing: status === 404 };
  if (status === 429) return unavailable('rate_limited', failure);
  return { kind: 'unknown', failure };
}

function failureOf(body: string): z.infer<typeof failureReply> {
  try {
    return failureReply.parse(JSON.parse(body));
  } catch {
    return { code: 'unexpected_answer', message: 'The answer is not as documented.' };
  }
}

async function notOffered(): Promise<Unavailable> {
  return unavailable('unreachable', processorFailure('not_offered', 'Eventpay does not offer this.'));
}

const states: ReadonlyMap<string, ProcessorRefundState> = new Map([
  ['paid_out', 'completed'],
  ['bounced', 'failed'],
]);

export function refundState(status: string): ProcessorRefundState {
  return states.get(status) ?? 'open';
}

function toRefund(reply: z.infer<typeof refundReply>, refundId: string | null): ProcessorRefund {
  const { amount, status: processorStatus, ...named } = reply;
  const state = refundState(processorStatus);
  const failure = state === 'failed' ? processorFailure(processorStatus, 'The refund bounced.') : null;
  return { ...named, amount: BigInt(amount), state, processorStatus, refundId, requestDigest: null, failure };
}
