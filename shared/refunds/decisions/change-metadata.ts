import { isDeepStrictEqual } from 'node:util';
import type { Dependencies } from '../../dependencies.ts';
import type { DatabaseTransaction, Refund } from '../../platform/database.ts';
import { ServiceError } from '../../platform/errors.ts';
import { redact } from '../../platform/log.ts';
import { moveMetadata } from '../lifecycle/move.ts';
import { checkMetadata } from '../model/metadata.ts';
import { changeUnerased } from './change-unerased.ts';

/** Keys of the first level with their new values; null removes a key. */
export type MetadataPatch = Readonly<Record<string, unknown>>;

type Metadata = Record<string, unknown>;

/**
 * Merges metadata into a refund's own, in any status. The timeline gets the keys that changed, and no value, so that what is
 * replaced or removed is kept nowhere.
 * @param actor for the timeline.
 * @returns the refund as it is now; unchanged when the patch changes nothing.
 * @throws ServiceError validation_error when the result is beyond the limits of metadata, and for a refund whose personal data was
 * erased, which must not come back.
 */
export async function changeMetadata(
  deps: Pick<Dependencies, 'db'>,
  refund: Pick<Refund, 'id'>,
  patch: MetadataPatch,
  actor: string,
): Promise<Refund> {
  return await changeUnerased(deps, refund, 'metadata: cannot be changed', (tx, current) =>
    change(tx, current, patch, actor),
  );
}

async function change(
  tx: DatabaseTransaction,
  refund: Refund,
  patch: MetadataPatch,
  actor: string,
): Promise<Refund> {
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
