import { isDeepStrictEqual } from 'node:util';
import type { Dependencies } from '../../dependencies.ts';
import { lockPaymentOf } from '../../payments/payment.ts';
import { type DatabaseTransaction, isUniqueViolation, type Refund } from '../../platform/database.ts';
import { ServiceError } from '../../platform/errors.ts';
import { redact } from '../../platform/log.ts';
import { moveMetadata } from '../lifecycle/move.ts';
import { lockWork } from '../lifecycle/work.ts';
import { checkMetadata } from '../model/metadata.ts';

/** Keys of the first level with their new values; null removes a key. */
export type MetadataPatch = Readonly<Record<string, unknown>>;

type Metadata = Record<string, unknown>;

/** How often a worker may write to the timeline at the same moment. */
const maxTries = 5;

/**
 * Merges metadata into a refund's own, in any status. The timeline gets the keys that changed, and no value, so that what is
 * replaced or removed is kept nowhere.
 * @param actor for the timeline.
 * @returns the refund as it is now; unchanged when the patch changes nothing.
 * @throws ServiceError validation_error when the result is beyond the limits of metadata, and for a refund whose personal data was
 * erased, which must not come back.
 */
export async function changeMetadata(
  { db }: Pick<Dependencies, 'db'>,
  refund: Pick<Refund, 'id'>,
  patch: MetadataPatch,
  actor: string,
): Promise<Refund> {
  for (let tried = 1; ; tried += 1) {
    try {
      return await db.$transaction((tx) => change(tx, refund, patch, actor));
    } catch (error) {
      // A worker that reviews a finished refund may have taken the next number of the timeline.
      if (tried === maxTries || !isUniqueViolation(error)) throw error;
    }
  }
}

async function change(
  tx: DatabaseTransaction,
  { id }: Pick<Refund, 'id'>,
  patch: MetadataPatch,
  actor: string,
): Promise<Refund> {
  await lockPaymentOf(tx, { id });
  await lockWork(tx, { id });
  // An erasure locks this row alone.
  await tx.$queryRaw`SELECT FROM refund WHERE id = ${id} FOR NO KEY UPDATE`;
  const refund = await tx.refund.findUniqueOrThrow({ where: { id } });
  await refuseErased(tx, refund);
  const current = refund.metadata as Metadata | null;
  const merged = mergeMetadata(current, patch);
  const problem = checkMetadata(merged);
  if (problem !== null) throw new ServiceError('validation_error', `metadata: ${problem}`);
  const changes = changesOf(current ?? {}, merged);
  if (changes === '') return refund;
  // `message` is erased with the other words of a timeline; see prisma/migrations/20261124160000_timeline.
  const entry = { type: 'metadata.changed', actor, detail: { message: redact(changes) } } as const;
  return await moveMetadata(tx, refund, merged, entry);
}

async function refuseErased(
  tx: DatabaseTransaction,
  { id, organizationId }: Pick<Refund, 'id' | 'organizationId'>,
): Promise<void> {
  const erasures = await tx.auditLog.count({
    where: { organizationId, target: id, action: 'refund.erased' },
  });
  if (erasures === 0) return;
  throw new ServiceError(
    'validation_error',
    'metadata: cannot be changed, because the personal data of this refund was erased.',
  );
}

/** Pure. Keys that only the prototype of an object should have stay keys, and are refused by `checkMetadata`. */
function mergeMetadata(current: Metadata | null, patch: MetadataPatch): Metadata {
  const all = [...Object.entries(current ?? {}), ...Object.entries(patch)];
  const merged = Object.fromEntries(all);
  const isRemoved = (key: string) => Object.hasOwn(patch, key) && patch[key] === null;
  return Object.fromEntries(Object.entries(merged).filter(([key]) => !isRemoved(key)));
}

/** The keys that differ, in one line; empty without any. */
function changesOf(before: Metadata, after: Metadata): string {
  const keys = [...new Set([...Object.keys(before), ...Object.keys(after)])];
  return keys
    .filter((key) => !isDeepStrictEqual(before[key], after[key]))
    .map((key) => (Object.hasOwn(after, key) ? key : `${key} (removed)`))
    .join(', ');
}
