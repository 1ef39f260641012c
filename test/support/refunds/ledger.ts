import type { Database, Prisma, RefundEvent } from '#shared/platform/database.ts';
import type { Environment } from '#shared/platform/environment.ts';
import type { MovedRefund, SandboxControl } from '../../sandbox/clients.ts';
import { PROCESSORS } from '../../sandbox/processors.ts';
import { type RefundRecord, recordsOf } from './refund-records.ts';

/** A refund that a processor has accepted, whatever became of it. */
export interface Movement extends MovedRefund {
  processor: string;
  environment: Environment;
}

/** Both sides of the books: what we have on record, and what the processors did. */
export interface Ledger {
  refunds: RefundRecord[];
  payments: Prisma.PaymentGetPayload<{ include: { names: true } }>[];
  /** In the order of each timeline. */
  events: RefundEvent[];
  movements: Movement[];
  /** The names of our accounts by their ids. */
  accounts: ReadonlyMap<string, string>;
}

const environments = ['test', 'live'] as const;

/**
 * Reads both sides: ours as it stands at one moment, although refunds may be moving.
 * @param transactionIds of the payments; every payment by default.
 */
export async function readLedger(
  db: Database,
  sandbox: SandboxControl,
  transactionIds?: readonly string[],
): Promise<Ledger> {
  const ids = { in: [...(transactionIds ?? [])] };
  const ofPayments = transactionIds === undefined ? {} : { transactionId: ids };
  const named = transactionIds === undefined ? {} : { names: { some: { name: ids } } };
  const ours = await db.$transaction(
    async (tx) => ({
      refunds: await recordsOf(tx, ofPayments),
      payments: await tx.payment.findMany({ where: named, include: { names: true } }),
      accounts: new Map(
        (await tx.processorAccount.findMany({ select: { id: true, name: true } })).map(({ id, name }) => [
          id,
          name,
        ]),
      ),
      events: await tx.refundEvent.findMany({
        where: { refund: ofPayments },
        orderBy: [{ refundId: 'asc' }, { seq: 'asc' }],
      }),
    }),
    { isolationLevel: 'RepeatableRead' },
  );
  return { ...ours, movements: await readMovements(sandbox, transactionIds) };
}

async function readMovements(sandbox: SandboxControl, ids?: readonly string[]): Promise<Movement[]> {
  const filters = ids?.map((transactionId) => ({ transactionId })) ?? [{}];
  const scopes = environments.flatMap((environment) =>
    PROCESSORS.map((processor) => ({ processor, environment })),
  );
  const movements = scopes.flatMap((scope) =>
    filters.map(async (filter) =>
      (await sandbox.refunds({ ...scope, ...filter, connectedAccount: 'any' })).map((moved) => ({
        ...moved,
        ...scope,
      })),
    ),
  );
  return (await Promise.all(movements)).flat();
}

/**
 * The refund that a movement belongs to; null for one that nobody here asked for. A void of an unsettled sale may carry
 * no name of ours, so it is known by the payment that it ended: it is that of the refund that claims it, or else of one
 * that was sent for the whole amount, and then rather of one whose outcome is open.
 */
export function ownerOf(movement: Movement, refunds: readonly RefundRecord[]): RefundRecord | null {
  const here = refunds.filter((refund) => isOfPayment(refund, movement));
  // One that was made past the service has no name of ours, but a person may have said whose it is.
  const named = here.find(({ id, externalRefundId }) =>
    movement.key.startsWith('ref_') ? movement.key === id : externalRefundId === movement.id,
  );
  if (named !== undefined || movement.id !== movement.transactionId) return named ?? null;
  const claiming = here.find(({ externalRefundId }) => externalRefundId === movement.id);
  if (claiming !== undefined) return claiming;
  const sent = here.filter(
    ({ attemptCount, amount }) => attemptCount > 0 && amount === BigInt(movement.amount),
  );
  return sent.find(({ status }) => status === 'processing') ?? sent[0] ?? null;
}

/** What the ids of a payment have in common: its charge and its payment intent share everything after the prefix. */
export function namelessId(transactionId: string): string {
  return transactionId.replace(/^(ch|py|pi)_/, '');
}

function isOfPayment(refund: RefundRecord, movement: Movement): boolean {
  return (
    namelessId(refund.transactionId) === namelessId(movement.transactionId) &&
    refund.processor === movement.processor &&
    refund.environment === movement.environment
  );
}
