import { randomBytes } from 'node:crypto';
import { ServiceError } from '#shared/platform/errors.ts';
import type { AccountName } from '#shared/processors/accounts/account.ts';
import { processorNames } from '#shared/processors/registry.ts';
import { requestResync } from '#shared/refunds/changes/work.ts';
import { approveRefund, rejectRefund } from '#shared/refunds/decisions/approve.ts';
import { resolveRefund } from '#shared/refunds/decisions/resolve.ts';
import { openRefundWork } from '#worker/advance/advance-refund.ts';
import type { MovedRefund } from '../../sandbox/clients.ts';
import type { HeldTime } from '../clocks.ts';
import { aroundCalls } from '../processors/around-calls.ts';
import { endAtProcessor } from '../processors/end-at-processor.ts';
import { webhookAbout } from '../processors/signed-webhooks.ts';
import type { Webhooks } from '../processors/webhooks.ts';
import { advanceRefund } from '../refunds/advance-refund.ts';
import { readLedger } from '../refunds/ledger.ts';
import { ledgerViolations } from '../refunds/ledger-rules.ts';
import { newPayment } from '../refunds/payments.ts';
import { refundDirectly } from '../refunds/refund-directly.ts';
import { recordsOf, rowOf } from '../refunds/refund-records.ts';
import { replacing } from '../replacing.ts';
import type { ApiAnswer, TestService } from '../service.ts';
import type { JobCall, Trouble } from './job-model.ts';
import type { LifecycleModel, ModelPayment, ProcessorName, Sight } from './model.ts';

const hourMs = 3_600_000;

/** The model's status for each status of a processor. */
const words = new Map([
  ['pending', 'open'],
  ['requires_action', 'open'],
  ['submitted_for_settlement', 'open'],
  ['settled', 'succeeded'],
  ['settlement_declined', 'failed'],
  ['voided', 'canceled'],
]);

/** The sandbox's names for the first request of each call. */
const operations: Record<JobCall, Record<ProcessorName, string>> = {
  send: { stripe: 'refund.create', braintree: 'refund.create' },
  find: { stripe: 'refund.find', braintree: 'transaction.get' },
  check: { stripe: 'refund.get', braintree: 'refund.get' },
  'ask-cancellation': { stripe: 'refund.cancel', braintree: 'refund.cancel' },
  review: { stripe: '*', braintree: '*' },
};

/** A payment of the model at the sandbox. */
interface WorldPayment {
  processor: ProcessorName;
  transactionId: string;
}

/** The service that all runs share. */
export interface Stage {
  service: TestService;
  webhooks: Webhooks;
  /** Of the service and its database. */
  time: HeldTime;
}

interface WorldRefund {
  id: string;
  payment: WorldPayment;
}

/** The real service with its own payments, for one run. No worker runs except for a command. */
export class LifecycleWorld {
  readonly #service: TestService;
  readonly #webhooks: Webhooks;
  readonly #time: HeldTime;
  readonly #payments: WorldPayment[];
  readonly #refunds: WorldRefund[] = [];

  private constructor({ service, webhooks, time }: Stage, payments: WorldPayment[]) {
    this.#service = service;
    this.#webhooks = webhooks;
    this.#time = time;
    this.#payments = payments;
  }

  static async open(stage: Stage, model: LifecycleModel): Promise<LifecycleWorld> {
    const { service, time } = stage;
    // Ends the pauses that an earlier run left.
    await time.advance(service.ownerDb, 2 * hourMs);
    await service.sandbox.clearFaults();
    const payments = await Promise.all(model.payments.map((payment) => placePayment(service, payment)));
    return new LifecycleWorld(stage, payments);
  }

  /** Returns the HTTP status, with the refund's status or the error code. */
  async create(index: number, amount: number, reachable: boolean): Promise<string> {
    const payment = this.#payments[index];
    if (payment === undefined) throw new RangeError(`There is no payment ${index}`);
    const { processor, transactionId } = payment;
    const { sandbox } = this.#service;
    const outage = { processor, operation: 'transaction.get', kind: 'error-503', times: null };
    if (!reachable) await sandbox.fault(outage);
    const answer = await this.#service.call('POST', '/v1/refunds', {
      body: { transactionId, amount, reason: 'other', processor },
      headers: { prefer: 'respond-async' },
    });
    if (!reachable) await sandbox.clearFaults();
    if (answer.status === 200) this.#refunds.push({ id: answer.body.data.id, payment });
    return inWords(answer);
  }

  async cancel(index: number): Promise<string> {
    return inWords(await this.#service.call('POST', `/v1/refunds/${this.#idOf(index)}/cancel`));
  }

  async decide(index: number, approves: boolean): Promise<string> {
    const { deps } = this.#service;
    const row = await rowOf(this.#service, this.#idOf(index));
    const { kind } = approves
      ? await approveRefund(deps, row, 'cli:ada')
      : await rejectRefund(deps, row, 'cli:ada', 'not this one');
    return kind;
  }

  /** Returns the outcome or the error code. */
  async resolve(index: number, status: 'completed' | 'failed' | 'cancelled'): Promise<string> {
    const [moved] = status === 'completed' ? await this.#movedOf(index) : [];
    const asked = { status, reason: 'seen there', externalRefundId: moved?.id ?? null, force: false };
    const row = await rowOf(this.#service, this.#idOf(index));
    try {
      return (await resolveRefund(this.#service.deps, row, 'cli:ada', asked)).kind;
    } catch (error) {
      if (error instanceof ServiceError) return error.code;
      throw error;
    }
  }

  /** Runs concurrent jobs for one refund; the first call of that kind has the fault. */
  async work(index: number, jobs: number, trouble: Trouble, call: JobCall | null): Promise<void> {
    const { sandbox, deps } = this.#service;
    const { id, payment } = this.#refundAt(index);
    const { processor } = payment;
    if (trouble !== 'none' && call !== null) {
      await sandbox.fault({ processor, operation: operations[call][processor], kind: trouble });
    }
    await Promise.all(Array.from({ length: jobs }, () => advanceRefund(deps, id)));
    await sandbox.clearFaults();
  }

  /** Runs a job whose worker is killed before or after its first call. */
  async crash(index: number, when: 'before' | 'after'): Promise<void> {
    const { deps } = this.#service;
    const worker = { isDead: false };
    const connections = replacing(deps.connections, {
      connect: async (account: AccountName) =>
        aroundCalls(await deps.connections.connect(account), async (_name, call) => {
          if (when === 'after') await call();
          worker.isDead = true;
          throw new WorkerDiedError('The worker has died.');
        }),
    });
    // A dead worker records nothing, not even that its step failed.
    const record: typeof deps.statements.record = async (item) => {
      if (worker.isDead) throw new WorkerDiedError('The worker has died.');
      return await deps.statements.record(item);
    };
    const statements = { ...deps.statements, record };
    await advanceRefund({ ...deps, connections, statements }, this.#idOf(index)).catch((error: unknown) => {
      if (!(error instanceof WorkerDiedError)) throw error;
    });
  }

  /** A worker looks for what is due and takes its steps; returns the refunds that it claims, in order. */
  async workOnWhatIsDue(): Promise<number[]> {
    const { deps } = this.#service;
    const claimed = new Set<unknown>();
    const claimDue: typeof deps.statements.claimDue = async (processor, most) => {
      const found = await deps.statements.claimDue(processor, most);
      for (const { refund } of found.claims) claimed.add(refund.id);
      return found;
    };
    for (const processor of processorNames) {
      const work = openRefundWork({ ...deps, statements: { ...deps.statements, claimDue } }, processor);
      await work.look();
      await work.untilCaughtUp();
      await work.close();
    }
    return [...this.#refunds.keys()].filter((index) => claimed.has(this.#idOf(index)));
  }

  /** Moves a refund to a status at the processor. */
  async drive(index: number, to: 'succeeded' | 'failed'): Promise<void> {
    const [moved] = await this.#movedOf(index);
    const { processor } = this.#refundAt(index).payment;
    await endAtProcessor(this.#service, { processor, externalRefundId: moved?.id ?? null }, to);
  }

  /** The processor applies an attempt that was taken for not applied. */
  async carryOutLate(index: number, amount: number): Promise<void> {
    const { id, payment } = this.#refundAt(index);
    await refundDirectly(this.#service, { ...payment, amount, refundId: id });
  }

  /** The processor sends a signed webhook with the refund's state; returns the HTTP status. */
  async sendWebhook(index: number): Promise<number> {
    const [moved] = await this.#movedOf(index);
    return await this.#send(index, { externalRefundId: moved?.id ?? '', processorStatus: moved?.status });
  }

  /** The processor sends a webhook that matches the record; returns the HTTP status. */
  async repeatWebhook(index: number): Promise<number> {
    const { externalRefundId, processorStatus } = await rowOf(this.#service, this.#idOf(index));
    return await this.#send(index, {
      externalRefundId: externalRefundId ?? '',
      processorStatus: processorStatus ?? undefined,
    });
  }

  async #send(
    index: number,
    state: { externalRefundId: string; processorStatus: string | undefined },
  ): Promise<number> {
    const { id, payment } = this.#refundAt(index);
    const reported = { ...state, refundId: id, transactionId: payment.transactionId };
    return (await this.#webhooks.send(payment.processor, webhookAbout(payment.processor, reported))).status;
  }

  /** Requests a resync; returns false for a refund that was never sent. */
  async requestResync(index: number): Promise<boolean> {
    return await requestResync(this.#service.deps.db, { id: this.#idOf(index) });
  }

  async passHours(hours: number): Promise<void> {
    await this.#time.advance(this.#service.ownerDb, hours * hourMs);
  }

  /** @throws Error listing every violated invariant. */
  async expectInvariants(): Promise<void> {
    const { deps, sandbox } = this.#service;
    const ids = this.#payments.map(({ transactionId }) => transactionId);
    const violations = ledgerViolations(await readLedger(deps.db, sandbox, ids));
    if (violations.length > 0) throw new Error(violations.map(({ what }) => what).join('\n'));
  }

  /** The observable state, in the model's terms. */
  async look(): Promise<Sight> {
    const { db } = this.#service.deps;
    const [rows, payments, ledger] = await Promise.all([
      recordsOf(db, { id: { in: this.#refunds.map(({ id }) => id) } }),
      db.payment.findMany({
        where: { names: { some: { name: { in: this.#payments.map((each) => each.transactionId) } } } },
        include: { names: true },
      }),
      Promise.all(this.#payments.map((payment) => this.#ledgerOf(payment))),
    ]);
    const moved = ledger.flat();
    return {
      refunds: this.#refunds.map(({ id }) => {
        const row = rows.find((candidate) => candidate.id === id);
        const there = moved.filter(({ key }) => key === id).map(({ status }) => words.get(status) ?? status);
        return {
          status: row?.status ?? 'lost',
          flagged: row?.flaggedAt !== null,
          there: there.join(' and ') || 'none',
        };
      }),
      payments: this.#payments.map(({ transactionId }) => {
        const stored = payments.find(({ names }) => names.some(({ name }) => name === transactionId));
        return { reserved: Number(stored?.reserved ?? 0n), outside: Number(stored?.refundedOutside ?? 0n) };
      }),
    };
  }

  async #movedOf(index: number): Promise<MovedRefund[]> {
    const { id, payment } = this.#refundAt(index);
    return (await this.#ledgerOf(payment)).filter(({ key }) => key === id);
  }

  async #ledgerOf({ processor, transactionId }: WorldPayment): Promise<MovedRefund[]> {
    return await this.#service.sandbox.refunds({ processor, transactionId });
  }

  #refundAt(index: number): WorldRefund {
    const refund = this.#refunds[index];
    if (refund === undefined) throw new RangeError(`There is no refund ${index}`);
    return refund;
  }

  #idOf(index: number): string {
    return this.#refundAt(index).id;
  }
}

async function placePayment(service: TestService, payment: ModelPayment): Promise<WorldPayment> {
  const { processor, amount, cancellable, declines } = payment;
  const paymentMethod = processor === 'stripe' && cancellable ? 'customer_balance' : 'card';
  const prefix = processor === 'stripe' ? 'ch_' : '';
  const named = declines ? { id: `${prefix}declined_${randomBytes(8).toString('hex')}` } : {};
  const transactionId = await newPayment(service, { processor, amount, paymentMethod, ...named });
  return { processor, transactionId };
}

function inWords({ status, body }: ApiAnswer): string {
  return `${status} ${status === 200 ? body.data.status : body.error.code}`;
}

class WorkerDiedError extends Error {
  override readonly name = 'WorkerDiedError';
}
