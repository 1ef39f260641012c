import { auditPerson } from '../audit-log.ts';
import { commitKnowingly } from '../commit-knowingly.ts';
import type { DatabaseTransaction, Refund } from '../db.ts';
import type { Dependencies } from '../dependencies.ts';
import { processorKind } from '../processors/registry.ts';
import { cancelUnsent } from './cancel-unsent.ts';
import { transition } from './transition.ts';

/**
 * What became of a request to cancel, at once.
 * - `cancelled`: done, the processor never hears of it.
 * - `asked`: the processor has the refund or may have it; a worker finds out, and the row tells when it has.
 * - `refused`: the refund is finished already.
 */
export type CancelRequest =
  | { kind: 'cancelled'; refund: Refund }
  | { kind: 'asked'; refund: Refund }
  | { kind: 'refused'; refund: Refund };

/** False when asking would be in vain: it has ended or been asked already, or its processor does not take it back any more. */
export function mayBeCancelled(refund: Refund): boolean {
  const { status, cancelRequestedAt, externalRefundId, processor } = refund;
  if (status === 'pending') return true;
  if (status !== 'processing' || cancelRequestedAt !== null) return false;
  return externalRefundId === null || processorKind(processor).mayTakeBack({ ...refund, externalRefundId });
}

/** A row that changed between reading and writing is read again; this many times nobody loses honestly. */
const maxRounds = 20;

/**
 * Asks for a refund to be cancelled. It is cancelled here and now only while it surely is not at the processor.
 */
export async function cancelRefund(
  deps: Dependencies,
  loaded: Refund,
  actor: string,
): Promise<CancelRequest> {
  let refund = loaded;
  for (let round = 0; round < maxRounds; round += 1) {
    const outcome = await tryCancel(deps, refund, actor);
    if (outcome !== null) return outcome;
    refund = await deps.db.refund.findUniqueOrThrow({ where: { id: refund.id } });
  }
  throw new Error(`Refund ${refund.id} kept changing while it was to be cancelled`);
}

/** One round of `cancelRefund`; null when the refund changed meanwhile. */
async function tryCancel(deps: Dependencies, refund: Refund, actor: string): Promise<CancelRequest | null> {
  if (refund.status !== 'pending' && refund.status !== 'processing') return { kind: 'refused', refund };
  const cancelled = await commitKnowingly(deps.db, async (tx) => {
    const moved = await cancelUnsent(tx, deps.clock, refund, actor);
    if (moved !== null) await audit(tx, deps, refund, actor);
    return moved;
  });
  if (cancelled !== null) return { kind: 'cancelled', refund: cancelled };
  if (refund.status === 'pending') return null;
  if (refund.cancelRequestedAt !== null) return { kind: 'asked', refund };
  const asked = await requestCancellation(deps, refund, actor);
  if (asked === null) return null;
  deps.queues.wake(asked);
  return { kind: 'asked', refund: asked };
}

async function requestCancellation(
  deps: Dependencies,
  refund: Refund,
  actor: string,
): Promise<Refund | null> {
  const now = deps.clock.now();
  return await commitKnowingly(deps.db, async (tx) => {
    const asked = await transition(tx, deps.clock, {
      refund,
      from: 'processing',
      to: 'processing',
      guard: { cancelRequestedAt: null },
      changes: { cancelRequestedAt: now, nextActionAt: now },
      entry: { type: 'cancel.requested', actor },
    });
    if (asked !== null) await audit(tx, deps, refund, actor);
    return asked;
  });
}

async function audit(
  tx: DatabaseTransaction,
  { clock }: Pick<Dependencies, 'clock'>,
  { id, organizationId }: Refund,
  actor: string,
): Promise<void> {
  await auditPerson(
    tx,
    { organizationId, actor, action: 'refund.cancel_requested', target: id },
    clock.now(),
  );
}
