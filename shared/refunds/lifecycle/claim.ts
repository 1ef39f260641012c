import type { Dependencies } from '../../dependencies.ts';
import type { Refund, RefundWork } from '../../platform/database.ts';
import type { AccountName } from '../../processors/accounts/connections.ts';
import { fromRow, refundFrom, workFrom } from '../model/rows.ts';
import type { ClaimRow } from './statements.ts';

/**
 * What a worker does next for a refund; prisma/functions/refunds/next_refund_step.sql decides it.
 * - `verify`: the payment is not known yet: read it.
 * - `send`: not at the processor: submit the refund.
 * - `look_up`: may be at the processor: look it up first.
 * - `settle`: at the processor: read whether it has settled.
 * - `cancel_at_processor`: at the processor, cancellation requested.
 * - `cancel`: not at the processor, cancellation requested.
 * - `review`: ended here: read whether the processor agrees.
 */
export type RefundStep =
  | 'verify'
  | 'send'
  | 'look_up'
  | 'settle'
  | 'cancel_at_processor'
  | 'cancel'
  | 'review';

/** A refund under a worker's lease, and everything that its next step needs. */
export interface Claim {
  step: RefundStep;
  /** When it was claimed, in the database's time. */
  now: Date;
  /** `performance.now()` before it was claimed; its lease ends no earlier than after its length from then on. */
  since: number;
  refund: Refund;
  /** Under the new lease; for the step `send`, with the attempt that is about to be made. */
  work: RefundWork;
  account: AccountName;
}

/**
 * Claims a refund for one call to its processor. A claim to send has counted the attempt before it returns.
 * @returns null when the refund is not due, another worker holds it, or its account is throttled.
 */
export async function claimRefund(
  { statements }: Pick<Dependencies, 'statements'>,
  refundId: string,
): Promise<Claim | null> {
  const since = performance.now();
  const row = await statements.claim({ refundId });
  return row === null ? null : claimFrom(row, since);
}

/** Due refunds of a processor that a worker can take. */
export interface DueClaims {
  claims: Claim[];
  /** True when there may be more of them: as many were looked at as were asked for. */
  isMore: boolean;
  /** True when more is due that could not be taken now, such as that of an account that has all its places or calls. */
  isWaiting: boolean;
}

/**
 * Claims due refunds of a processor, up to a number, as `claimRefund` does with one: the longest due ones of each account, whose
 * accounts take turns. Over all workers, an account has no more of them under lease than PROCESSOR_ACCOUNT_CONCURRENCY, and gets no
 * more calls per second than PROCESSOR_ACCOUNT_CALLS_PER_SECOND.
 */
export async function claimDueRefunds(
  { statements }: Pick<Dependencies, 'statements'>,
  processor: string,
  most: number,
): Promise<DueClaims> {
  const since = performance.now();
  const { rows, isWaiting } = await statements.claimDue(processor, most);
  const claims = rows.flatMap((row) => (row === null ? [] : [claimFrom(row, since)]));
  return { claims, isMore: rows.length === most, isWaiting };
}

function claimFrom(row: ClaimRow, since: number): Claim {
  return {
    step: row.step as RefundStep,
    now: new Date(row.now),
    since,
    refund: refundFrom(row.refund),
    work: workFrom(row.work),
    account: fromRow<AccountName>(row.account),
  };
}
