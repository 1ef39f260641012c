import { setTimeout as sleep } from 'node:timers/promises';
import type { Dependencies } from '#shared/dependencies.ts';
import type { Database, Refund, RefundWork } from '#shared/platform/database.ts';
import type { Processor } from '#shared/processors/contract/processor.ts';
import { isTerminal } from '#shared/refunds/model/states.ts';
import type { MovedRefund } from '../../sandbox/clients.ts';
import { aroundCalls, type ProcessorCall } from '../../support/processors/around-calls.ts';
import { paused } from '../../support/processors/paused.ts';
import type { TestOrganization, TestService } from '../../support/service.ts';
import { waitFor } from '../../support/wait-for.ts';
import { answers, type Run } from './combinations.ts';
import { killable, type Tampering, type WakeUp } from './killable-dependencies.ts';
import { type Breakpoint, KillableProcess } from './killable-process.ts';

/** A process with what it works with. */
export interface Actor {
  process: KillableProcess;
  deps: Dependencies;
}

/** An organization of the service, used by one combination at a time. */
export interface Lane {
  service: TestService;
  organization: TestOrganization;
  tampering: Tampering;
}

/** A refund with its work, as far as there is any. */
export type OpenRefund = Refund & { work: RefundWork | null };

/** True when a refund has ended and no work is left. */
export function isOver({ status, work }: Pick<OpenRefund, 'status' | 'work'>): boolean {
  return isTerminal(status) && (work?.dueAt ?? null) === null;
}

/** A request that its processor applies late. */
interface LateAnswer {
  /** When it has surely been applied, in `performance.now()` time. */
  appliedByMs: number;
  /** How long it has been under way, in the refund's time. */
  outstandingMs: number;
}

/**
 * How long after the end of an attempt a lookup that finds nothing is proof. Lookups after the first pause, and after the
 * lease of a killed worker, come before that.
 */
export const settleDelayMs = 60_000;

/** More than a step takes in real time, which counts towards the settle delay as well. */
const marginMs = 6_000;

/** Long enough for a sandbox on a busy machine. */
const shortTimeoutMs = 1_000;
/** Longer than the short timeout. */
const holdMs = 1_300;
/** The same for a request that is applied late, after a lookup. */
const lateHoldMs = 3_000;

/** The sandbox's name for it. */
function operationOf(call: ProcessorCall, processor: Run['processor']): string {
  // A Braintree lookup begins with the sale, from which it walks to its refunds.
  if (call === 'findRefund') return processor === 'stripe' ? 'refund.find' : 'transaction.get';
  return operations[call];
}

const operations = {
  getPayment: 'transaction.get',
  createRefund: 'refund.create',
  getRefund: 'refund.get',
  cancelRefund: 'refund.cancel',
} as const;

/** One combination: its payment, its refund, and the processes that work on it. */
export class Stage {
  readonly service: TestService;
  readonly organization: TestOrganization;
  readonly run: Run;
  readonly transactionId: string;
  readonly wakeUp: WakeUp = { isSent: false };
  readonly #actors: Actor[] = [];
  readonly #tampering: Tampering;
  #isLate = false;
  #late: LateAnswer | null = null;
  #hurriedCall: ProcessorCall | null = null;
  lostWakeUps = 0;
  rounds = 0;
  /** True when a client got a confirmed cancellation. */
  isConfirmedCancelled = false;

  constructor({ service, organization, tampering }: Lane, run: Run, transactionId: string) {
    this.service = service;
    this.organization = organization;
    this.run = run;
    this.transactionId = transactionId;
    this.#tampering = tampering;
  }

  start(breakpoint: Breakpoint | null = null): Actor {
    const process = new KillableProcess(breakpoint);
    const { deps } = this.service;
    const { processor = (each: Processor) => each } = this.#tampering;
    const tampering = {
      ...this.#tampering,
      processor: (connected: Processor) => this.#hurried(processor(connected)),
    };
    const actor = { process, deps: killable(deps, process, this.wakeUp, tampering) };
    this.#actors.push(actor);
    return actor;
  }

  /** Makes the processor give the run's answer to the next such call. */
  async arm(call: ProcessorCall): Promise<void> {
    const answer = answers[this.run.answer];
    if (answer === null) return;
    this.#isLate = answer === 'timeout-late-apply';
    this.#hurriedCall = typeof answer === 'string' && answer.startsWith('timeout') ? call : null;
    await this.fault(operationOf(call, this.run.processor), answer);
  }

  /** Shortens the timeout of the call that will time out. */
  #hurried(processor: Processor): Processor {
    return aroundCalls(processor, (name, call, { timeoutMs, since = performance.now() }) => {
      const isTimeLeft = performance.now() - since < timeoutMs;
      if (name !== this.#hurriedCall || !isTimeLeft) return call();
      this.#hurriedCall = null;
      return call({ timeoutMs: shortTimeoutMs });
    });
  }

  /** @param answer a kind of fault, or the error that the processor answers. */
  async fault(operation: string, answer: string | object): Promise<void> {
    const { processor } = this.run;
    const { transactionId } = this;
    const what = typeof answer === 'string' ? { kind: answer } : { kind: 'error', error: answer };
    const delayMs = answer === 'timeout-late-apply' ? lateHoldMs : holdMs;
    await this.service.sandbox.fault({ processor, operation, ...what, transactionId, delayMs });
  }

  /** Nothing is known of the account, as with new credentials. */
  async forgetAbilities(): Promise<void> {
    const { id: organizationId } = this.organization;
    await this.service.deps.db.processorAccount.updateMany({
      where: { organizationId, environment: 'test', processor: this.run.processor },
      data: { abilities: {}, misconfiguredAt: null },
    });
  }

  /** What a reviewer at the processor does: the processor carries out what it holds. */
  async approveAtProcessor(): Promise<void> {
    const { sandbox } = this.service;
    const held = (await sandbox.approvals()).filter(({ transactionIds }) =>
      transactionIds.includes(this.transactionId),
    );
    for (const { id } of held) await sandbox.decide(id, 'approved');
  }

  /** The refund on record; null while there is none. */
  async refund(): Promise<OpenRefund | null> {
    const { transactionId, organization } = this;
    const where = { transactionId, organizationId: organization.id };
    return await this.service.deps.db.refund.findFirst({ where, include: { work: true } });
  }

  /** Workers with an older token have lost their lease. While no worker has the refund, every token is older. */
  async newestLeaseToken(): Promise<number> {
    const refund = await this.refund();
    const token = refund === null ? 0n : refund.work?.leaseToken;
    if (typeof token === 'bigint') return Number(token);
    const [sequence] = await this.service.deps.db.$queryRaw<{ next: bigint }[]>`
      SELECT last_value + 1 AS next FROM lease_token`;
    return Number(sequence?.next);
  }

  /** Pauses the sends of the account for a time that passes with the refund's time. */
  async pauseSends(): Promise<void> {
    const { id: organizationId } = this.organization;
    await this.service.deps.db.processorAccount.updateMany({
      where: { organizationId, environment: 'test', processor: this.run.processor },
      data: { rateLimits: paused(new Date(Date.now() + 30_000), 'createRefund') },
    });
  }

  /** The refunds of the payment at the processor. */
  async ledger(): Promise<MovedRefund[]> {
    const { transactionId, run, service } = this;
    return await service.sandbox.refunds({
      processor: run.processor,
      transactionId,
      connectedAccount: 'any',
    });
  }

  /** Waits until all calls have arrived, also those that are applied late. */
  async untilCallsHaveEnded(): Promise<void> {
    await this.#untilNoCallIsOpen();
    const late = await this.#outstanding();
    if (late !== null) await this.#untilApplied(late);
  }

  /**
   * Lets time pass until the refund is due. A late request is applied as late as possible: just before a lookup that
   * finds nothing counts as proof.
   */
  async letTimePass(refundId: string): Promise<void> {
    await this.#untilNoCallIsOpen();
    const { db } = this.service.deps;
    const passedMs = await timeUntilDueMs(db, refundId);
    const late = await this.#outstanding();
    if (late !== null) {
      late.outstandingMs += passedMs;
      if (late.outstandingMs >= settleDelayMs) await this.#untilApplied(late);
    }
    await letTimePass(db, refundId, passedMs);
    for (const { process } of this.#actors) if (process.isFrozen) process.sleptMs += passedMs;
  }

  async #untilNoCallIsOpen(): Promise<void> {
    while (this.#actors.some(({ process }) => process.calls.size > 0)) await sleep(2);
  }

  /** The request that the processor has not applied yet. */
  async #outstanding(): Promise<LateAnswer | null> {
    if (!this.#isLate || (await this.#isArmed())) return null;
    this.#late ??= { appliedByMs: performance.now() + lateHoldMs, outstandingMs: 0 };
    return this.#late;
  }

  async #untilApplied({ appliedByMs }: LateAnswer): Promise<void> {
    // The sandbox started its timer before this process saw the request.
    await sleep(Math.max(0, appliedByMs - performance.now()));
    await waitFor('the late answer to be applied', async () => {
      const entries = await this.ledger();
      const isCancellation = this.run.flow.startsWith('cancellation');
      return isCancellation
        ? entries.some(({ status }) => status.startsWith('cancel') || status === 'voided')
        : entries.length > 0;
    });
    this.#isLate = false;
  }

  async #isArmed(): Promise<boolean> {
    const armed = await this.service.sandbox.faults();
    return armed.some(({ transactionId }) => transactionId === this.transactionId);
  }
}

/** Milliseconds until a refund is due and every lease on it has ended. */
async function timeUntilDueMs(db: Database, refundId: string): Promise<number> {
  const [found] = await db.$queryRaw<{ ms: number }[]>`
    SELECT (extract(epoch FROM greatest(
      interval '0', leased_until - service_time(), due_at - service_time()
    )) * 1000)::float8 AS ms
    FROM refund_work WHERE refund_id = ${refundId}`;
  return marginMs + (found?.ms ?? 0);
}

/** Lets time pass for one refund and its account, by moving all their times into the past. */
async function letTimePass(db: Database, refundId: string, passedMs: number): Promise<void> {
  await db.$executeRaw`
    WITH passed AS (
      SELECT id, account_id, ${passedMs} * interval '1 millisecond' AS time
      FROM refund WHERE id = ${refundId}
    ), rested AS (
      UPDATE processor_account SET rate_limits = (
        SELECT jsonb_object_agg(operation, noted || jsonb_build_object(
          'pausedUntil', (noted->>'pausedUntil')::timestamptz - time, 'slowedAt', (noted->>'slowedAt')::timestamptz - time))
        FROM jsonb_each(rate_limits) AS each(operation, noted))
      FROM passed
      WHERE processor_account.id = passed.account_id AND rate_limits <> '{}'
    )
    UPDATE refund_work SET
      leased_until = leased_until - time, due_at = due_at - time,
      attempt_started_at = attempt_started_at - time, unknown_since = unknown_since - time, retrying_since = retrying_since - time,
      approval_requested_at = approval_requested_at - time, key_used_at = key_used_at - time, server_error_at = server_error_at - time,
      resync_requested_at = resync_requested_at - time, cancel_requested_at = cancel_requested_at - time,
      waiting_since = waiting_since - time, waiting_until = waiting_until - time, flagged_at = flagged_at - time
    FROM passed WHERE refund_work.refund_id = passed.id`;
}
