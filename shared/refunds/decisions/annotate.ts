import { isDeepStrictEqual } from 'node:util';
import { writeAudit } from '../../audit/audit-log.ts';
import { lockPaymentOf } from '../../payments/payment.ts';
import {
  type Database,
  type DatabaseTransaction,
  isUniqueViolation,
  type Prisma,
  type Refund,
  type Stores,
} from '../../platform/database.ts';
import { ServiceError } from '../../platform/errors.ts';
import { redact } from '../../platform/log.ts';
import { checkMetadata } from '../../refund-request/metadata.ts';
import { noteOnRefund } from '../changes/move.ts';
import { lockWork } from '../changes/work.ts';

// Notes and metadata: what may be personal data, and is added to a refund in any status.

/** Characters of a note. */
export const maxNoteLength = 1_000;

/**
 * From this many entries on, a timeline takes no note and no change of metadata. A cancellation can be requested for longer; see
 * prisma/functions/refunds/cancel_refund.sql.
 */
export const maxAnnotatedEntries = 1_000;

/** Line breaks and tabs, and no other control characters. */
const printable = new RegExp(`^(?:[^\\p{Cc}]|[\\n\\t]){1,${maxNoteLength}}$`, 'u');

/**
 * Adds a person's note to the timeline of a refund, in any status, without card numbers and secrets. The audit log says who added
 * one, and not what it says.
 * @throws ServiceError validation_error for a text that is empty, too long or not printable, for a refund whose personal data was
 * erased, and for one with a full timeline.
 */
export async function addNote(
  deps: Stores,
  refund: Pick<Refund, 'id'>,
  actor: string,
  text: string,
): Promise<void> {
  const message = redact(text.replaceAll('\r\n', '\n').trim());
  if (!printable.test(message)) {
    throw new ServiceError('validation_error', `note: must be 1 to ${maxNoteLength} printable characters.`);
  }
  await changeUnerased(deps, refund, 'note: cannot be added', async (tx, current) => {
    await refuseFull(tx, current, 'note: cannot be added');
    // `message` is erased with the other words of a timeline; see hash_refund_event() of the first migration.
    await noteOnRefund(tx, current, { type: 'note.added', actor, detail: { message } });
    const { id: target, organizationId } = current;
    await writeAudit(tx, { organizationId, target, actor, action: 'refund.note_added' }, deps.clock.now());
  });
}

/** Keys of the first level with their new values; null removes a key. */
export type MetadataPatch = Readonly<Record<string, unknown>>;

type Metadata = Record<string, unknown>;

/**
 * Merges metadata into a refund's own, in any status. The timeline gets the keys that changed, and no value, so that what is
 * replaced or removed is kept nowhere.
 * @param actor for the timeline.
 * @returns the refund as it is now; unchanged when the patch changes nothing.
 * @throws ServiceError validation_error when the result is beyond the limits of metadata, for a refund whose personal data was
 * erased, which must not come back, and for one with a full timeline.
 */
export async function changeMetadata(
  deps: { db: Database },
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
  await refuseFull(tx, refund, 'metadata: cannot be changed');
  // `message` is erased with the other words of a timeline; see hash_refund_event() of the first migration.
  const entry = { type: 'metadata.changed', actor, detail: { message: redact(changes) } } as const;
  return await noteOnRefund(tx, refund, entry, { metadata: merged as Prisma.InputJsonObject });
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

/** How often a worker may write to the timeline at the same moment. */
const maxTries = 5;

/**
 * Adds to a refund in any status what may be personal data, while a worker may write to its timeline.
 * @param refusal what is refused after an erasure, such as `metadata: cannot be changed`.
 * @param change its writes, with the refund locked and as it is now. It may run several times.
 * @throws ServiceError validation_error for a refund whose personal data was erased, which must not come back.
 */
async function changeUnerased<Result>(
  { db }: { db: Database },
  { id }: Pick<Refund, 'id'>,
  refusal: string,
  change: (tx: DatabaseTransaction, refund: Refund) => Promise<Result>,
): Promise<Result> {
  for (let tried = 1; ; tried += 1) {
    try {
      return await db.$transaction(async (tx) => {
        await lockPaymentOf(tx, { id });
        await lockWork(tx, { id });
        // An erasure locks this row alone.
        await tx.$queryRaw`SELECT FROM refund WHERE id = ${id} FOR NO KEY UPDATE`;
        const refund = await tx.refund.findUniqueOrThrow({ where: { id } });
        await refuseErased(tx, refund, refusal);
        return await change(tx, refund);
      });
    } catch (error) {
      // A worker that reviews a finished refund may have taken the next number of the timeline.
      if (tried === maxTries || !isUniqueViolation(error)) throw error;
    }
  }
}

async function refuseErased(
  tx: DatabaseTransaction,
  { id, organizationId }: Pick<Refund, 'id' | 'organizationId'>,
  refusal: string,
): Promise<void> {
  const erasures = await tx.auditLog.count({
    where: { organizationId, target: id, action: 'refund.erased' },
  });
  if (erasures === 0) return;
  throw new ServiceError(
    'validation_error',
    `${refusal}, because the personal data of this refund was erased.`,
  );
}

/** @throws ServiceError validation_error for a timeline that is full, so that no caller fills it without end. */
async function refuseFull(
  tx: DatabaseTransaction,
  { id: refundId }: Pick<Refund, 'id'>,
  refusal: string,
): Promise<void> {
  const last = await tx.refundEvent.findFirst({
    where: { refundId },
    orderBy: { seq: 'desc' },
    select: { seq: true },
  });
  if (last === null || last.seq < maxAnnotatedEntries) return;
  throw new ServiceError(
    'validation_error',
    `${refusal}, because the timeline of this refund has ${maxAnnotatedEntries} entries. Keep what changes often in your own system.`,
  );
}
