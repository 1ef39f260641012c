import { setTimeout as sleep } from 'node:timers/promises';
import { ServiceError } from '#shared/platform/errors.ts';
import { requestResync } from '#shared/refunds/changes/work.ts';
import { cancelRefund } from '#shared/refunds/lifecycle/cancel.ts';
import { createRefund } from '#shared/refunds/lifecycle/create.ts';
import type { RefundRequest } from '#shared/refunds/lifecycle/decide.ts';
import type { ProcessorCall } from '../../support/processors/around-calls.ts';
import { advanceRefund } from '../../support/refunds/advance-refund.ts';
import { refundRequest } from '../../support/refunds/refund-requests.ts';
import { carryOn, settleAtProcessor } from './carry-on.ts';
import {
  type Answer,
  allAnswers,
  answersOfStripe,
  answersToReads,
  type FlowName,
  type Run,
} from './combinations.ts';
import type { Actor, Stage } from './stage.ts';

/** A way through the service, from the moment at which a process may be killed. */
export interface Flow {
  answers: readonly Answer[];
  processors: readonly Run['processor'][];
  /** @param number another one for each payment. */
  payment?(run: Run, number: number): PaymentTraits;
  /** What its request has besides a payment and an amount. */
  asks?(stage: Stage): Partial<RefundRequest>;
  /** The call whose first request gets the answer. */
  call: ProcessorCall;
  /** True when `arrange` makes the call. */
  isArmedFirst?: boolean;
  /** What healthy processes do before. */
  arrange?(stage: Stage, healthy: Actor): Promise<void>;
  /** What the process does before it works on jobs. */
  begin?(stage: Stage, actor: Actor): Promise<void>;
  /** How the refund may end without a cancellation. */
  ends(run: Run): readonly string[];
}

export interface PaymentTraits {
  /** Part of its id, which the sandbox interprets. */
  id?: 'declined' | 'missing';
  status?: string;
  paymentMethod?: string;
  connectedAccount?: string;
  transferTo?: string;
  applicationFee?: number;
}

/** The fee of a payment that has to do with a connected account. */
const applicationFee = 1_000;

/** The connected account of a payment: another one for each, so that every refund is its first use. */
const sellerOf = (numberOrId: number | string) => `acct_${String(numberOrId).split('_').at(-1)}`;

/** A refund of the whole of an unsettled payment is a void. */
const amounts: Record<'part' | 'whole', bigint> = { part: 2_500n, whole: 10_000n };

/** Creates the refund as a client does. */
export async function request(stage: Stage, { deps }: Actor): Promise<void> {
  const { run, organization, transactionId } = stage;
  const more = { amount: run.flow === 'void' ? amounts.whole : amounts.part, processor: run.processor };
  const asked = { ...more, ...flows[run.flow].asks?.(stage) };
  await createRefund(deps, refundRequest({ organization }, transactionId, asked));
}

/** Cancels the refund as a client does. */
export async function cancel(stage: Stage, { deps }: Actor): Promise<void> {
  const refund = await stage.refund();
  if (refund === null) return;
  const asked = {
    refundId: refund.id,
    organizationId: refund.organizationId,
    environment: refund.environment,
    actor: `key:${stage.organization.keys.test.id}`,
    idempotencyKey: null,
  };
  const outcome = await whileUnavailable(() => cancelRefund(deps, asked));
  if (outcome.kind === 'cancelled') stage.isConfirmedCancelled = true;
}

const mostRepetitions = 20;
const repeatPauseMs = 100;

/** Repeats a request that is answered with 503, as a client does: on a busy machine another one may hold the payment. */
async function whileUnavailable<T>(send: () => Promise<T>): Promise<T> {
  for (let repetitions = 0; ; repetitions += 1) {
    try {
      return await send();
    } catch (error) {
      const isUnavailable = error instanceof ServiceError && error.code === 'service_unavailable';
      if (!isUnavailable || repetitions === mostRepetitions) throw error;
      await sleep(repeatPauseMs);
    }
  }
}

async function accepted(stage: Stage, healthy: Actor): Promise<void> {
  await request(stage, healthy);
  await advance(stage, healthy);
}

async function advance(stage: Stage, { deps }: Actor): Promise<void> {
  const refund = await stage.refund();
  if (refund === null) return;
  await advanceRefund(deps, refund.id);
  stage.wakeUp.isSent = false;
}

/** Changes the refund at its processor. */
async function driveTo(stage: Stage, status: string): Promise<void> {
  const [entry] = await stage.ledger();
  if (entry === undefined) throw new Error('The processor has no refund.');
  await stage.service.sandbox.driveRefund(entry.id, { status });
}

const both = ['stripe', 'braintree'] as const;
/** Of what differs from other refunds: which calls are repeated, and with what. */
const answersToConnect: readonly Answer[] = [
  'ok',
  '429',
  '500 applied and replayed',
  'timeout after applying',
  'timeout and applied late',
  'reset before applying',
  'reset after applying',
];
const endsOf = ({ answer }: Run) => [answer === 'rejected' ? 'failed' : 'completed'];

export const flows: Record<FlowName, Flow> = {
  refund: {
    answers: allAnswers,
    processors: both,
    payment: ({ answer }) => (answer === 'rejected' ? { id: 'declined' } : {}),
    call: 'createRefund',
    begin: request,
    ends: endsOf,
  },
  'refund of a direct charge': {
    answers: answersToConnect,
    processors: ['stripe'],
    payment: (_, number) => ({ connectedAccount: sellerOf(number), applicationFee }),
    asks: ({ transactionId }) => ({
      connectedAccount: sellerOf(transactionId),
      options: { refundApplicationFee: true },
    }),
    call: 'createRefund',
    begin: request,
    ends: endsOf,
  },
  'refund of a destination charge': {
    answers: answersToConnect,
    processors: ['stripe'],
    payment: (_, number) => ({ transferTo: sellerOf(number), applicationFee }),
    asks: () => ({ options: { reverseTransfer: true, refundApplicationFee: true } }),
    call: 'createRefund',
    begin: request,
    ends: endsOf,
  },
  void: {
    answers: allAnswers.filter((answer) => answer !== 'rejected'),
    processors: ['braintree'],
    payment: () => ({ status: 'submitted_for_settlement' }),
    call: 'createRefund',
    begin: request,
    ends: endsOf,
  },
  'refund turned down at its second try': {
    answers: ['429', 'reset before applying'],
    processors: both,
    payment: () => ({ id: 'declined' }),
    call: 'createRefund',
    begin: request,
    ends: () => ['failed'],
  },
  'cancellation of a refund not sent': {
    answers: ['ok'],
    processors: both,
    call: 'createRefund',
    arrange: request,
    begin: cancel,
    ends: () => ['cancelled', 'completed'],
  },
  'cancellation of a refund perhaps sent': {
    answers: ['reset before applying', 'reset after applying'],
    processors: both,
    call: 'createRefund',
    isArmedFirst: true,
    arrange: accepted,
    begin: cancel,
    ends: () => ['cancelled', 'completed'],
  },
  'cancellation of an accepted refund': {
    answers: allAnswers.filter((answer) => !answersOfStripe.includes(answer)),
    processors: both,
    // Stripe cancels only refunds that require action.
    payment: ({ answer, processor }) =>
      answer === 'rejected' && processor === 'stripe' ? { paymentMethod: 'card' } : {},
    call: 'cancelRefund',
    async arrange(stage, healthy) {
      await accepted(stage, healthy);
      // On a busy machine the request may time out.
      if (typeof (await stage.refund())?.externalRefundId !== 'string')
        throw new Error('The processor has not accepted the refund.');
      const { answer, processor } = stage.run;
      if (answer === 'rejected' && processor === 'braintree') await driveTo(stage, 'settling');
    },
    begin: cancel,
    ends: ({ answer }) => (answer === 'rejected' ? ['completed'] : ['cancelled', 'completed']),
  },
  'paused sends': {
    answers: ['ok'],
    processors: both,
    call: 'createRefund',
    async arrange(stage, healthy) {
      await request(stage, healthy);
      await stage.pauseSends();
    },
    ends: endsOf,
  },
  verification: {
    answers: [...answersToReads, 'rejected'],
    processors: both,
    call: 'getPayment',
    payment: ({ answer }) => (answer === 'rejected' ? { id: 'missing' } : {}),
    async arrange(stage, healthy) {
      await stage.fault('transaction.get', 'error-503');
      await request(stage, healthy);
    },
    ends: endsOf,
  },
  lookup: {
    answers: answersToReads,
    processors: both,
    call: 'findRefund',
    async arrange(stage, healthy) {
      await stage.fault('refund.create', 'reset-after-apply');
      await accepted(stage, healthy);
    },
    ends: endsOf,
  },
  settlement: {
    answers: answersToReads,
    processors: both,
    call: 'getRefund',
    async arrange(stage, healthy) {
      await accepted(stage, healthy);
      if (stage.run.processor === 'braintree') await driveTo(stage, 'settling');
    },
    ends: endsOf,
  },
  review: {
    answers: answersToReads,
    processors: both,
    call: 'getRefund',
    async arrange(stage, healthy) {
      await accepted(stage, healthy);
      await settleAtProcessor(stage);
      await carryOn(stage, healthy);
      await driveTo(stage, stage.run.processor === 'stripe' ? 'failed' : 'settlement_declined');
      const refund = await stage.refund();
      if (refund === null) throw new Error('There is no refund to review.');
      await requestResync(stage.service.deps.db, refund);
    },
    ends: () => ['failed'],
  },
};
