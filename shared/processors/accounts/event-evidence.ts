import type { Database } from '../../platform/database.ts';
import { processorFailure, unavailable } from '../contract/outcome.ts';
import type {
  LookupResult,
  Processor,
  ProcessorKind,
  ProcessorRefund,
  ReadResult,
  RefundReference,
} from '../contract/processor.ts';

/** What evidence from events is read with. */
interface Evidence {
  db: Database;
  accountId: string;
  kind: ProcessorKind<unknown>;
}

/**
 * The same processor, with the record and the account's verified events in place of what the processor cannot be asked. An event
 * only adds evidence: its absence never proves that a refund was not applied, so an outcome stays unknown until an event says
 * otherwise or a person decides.
 * @param processor an object of functions, as `aroundCalls` makes it.
 */
export function withEventEvidence(processor: Processor, evidence: Evidence): Processor {
  const { findsRefunds, readsRefunds } = evidence.kind.capabilities;
  if (findsRefunds && readsRefunds) return processor;
  return {
    ...processor,
    findRefund: (reference, options) =>
      findsRefunds ? processor.findRefund(reference, options) : findInEvents(evidence, reference),
    getRefund: (id, reference, options) =>
      readsRefunds ? processor.getRefund(id, reference, options) : readFromEvents(evidence, id, reference),
  };
}

/** The failure of a question that only an event could answer. */
export const noEvent = 'no_event';

/** A refund that a verified event names by our id. */
async function findInEvents(evidence: Evidence, reference: RefundReference): Promise<LookupResult> {
  const { db, accountId, kind } = evidence;
  const named = await db.processorEvent.findFirst({
    where: { accountId, refundId: reference.refundId, externalRefundId: { not: null } },
    orderBy: { receivedAt: 'desc' },
  });
  if (named?.externalRefundId != null) {
    const read = await readFromEvents(evidence, named.externalRefundId, reference);
    if (read.kind === 'found') return read;
  }
  const message = `${kind.displayName} does not look up refunds, and has sent no event about this one.`;
  return unavailable('unreachable', processorFailure(noEvent, message));
}

/**
 * A refund as its events and the record have it. Events have no amount: it is the requested one, unless the answer to the
 * submission had another.
 */
async function readFromEvents(
  { db, accountId, kind }: Evidence,
  id: string,
  { refundId, amount, currency }: RefundReference,
): Promise<ReadResult<ProcessorRefund>> {
  const events = await db.processorEvent.findMany({
    where: { accountId, externalRefundId: id, processorStatus: { not: null } },
    orderBy: { receivedAt: 'asc' },
  });
  const record = await db.refund.findUnique({ where: { id: refundId }, include: { work: true } });
  const recorded = record?.externalRefundId === id ? record.processorStatus : null;
  const statuses = [recorded, ...events.map(({ processorStatus }) => processorStatus)];
  const status = decisiveStatus(
    kind,
    statuses.filter((each) => each !== null),
  );
  if (status === null) {
    return { kind: 'not-found', failure: processorFailure(noEvent, `No event is about refund ${id}.`) };
  }
  const state = kind.refundState(status);
  const differs = record?.work?.flagReason === 'amount_differs';
  const facts = differs ? (record.work?.flagFacts as { amount: number; currency: string }) : null;
  const message = `${kind.displayName} reports the refund as ${status}.`;
  return {
    kind: 'found',
    value: {
      id,
      amount: facts === null ? amount : BigInt(facts.amount),
      currency: facts?.currency ?? currency,
      state,
      processorStatus: status,
      refundId,
      requestDigest: null,
      failure: state === 'failed' ? processorFailure(status, message) : null,
    },
  };
}

/** Events may arrive late and out of order: an end outweighs a progress, and the return of the money outweighs its payment. */
function decisiveStatus(kind: ProcessorKind<unknown>, statuses: readonly string[]): string | null {
  const weights = { open: 0, completed: 1, cancelled: 2, failed: 2 };
  const weightOf = (status: string) => weights[kind.refundState(status)];
  return statuses.reduce<string | null>(
    (decisive, status) => (decisive === null || weightOf(status) >= weightOf(decisive) ? status : decisive),
    null,
  );
}
