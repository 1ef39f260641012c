import type { Dependencies } from '../../dependencies.ts';
import { writeAudit } from '../../platform/audit-log.ts';
import type { Refund } from '../../platform/database.ts';
import { ServiceError } from '../../platform/errors.ts';
import { redact } from '../../platform/log.ts';
import { noteOnRefund } from '../lifecycle/move.ts';
import { changeUnerased } from './change-unerased.ts';

/** Characters of a note. */
export const maxNoteLength = 1_000;

/** Line breaks and tabs, and no other control characters. */
const printable = new RegExp(`^(?:[^\\p{Cc}]|[\\n\\t]){1,${maxNoteLength}}$`, 'u');

/**
 * Adds a person's note to the timeline of a refund, in any status, without card numbers and secrets. The audit log says who added
 * one, and not what it says.
 * @throws ServiceError validation_error for a text that is empty, too long or not printable, and for a refund whose personal data
 * was erased.
 */
export async function addNote(
  deps: Pick<Dependencies, 'db' | 'clock'>,
  refund: Pick<Refund, 'id'>,
  actor: string,
  text: string,
): Promise<void> {
  const message = redact(text.replaceAll('\r\n', '\n').trim());
  if (!printable.test(message)) {
    throw new ServiceError('validation_error', `note: must be 1 to ${maxNoteLength} printable characters.`);
  }
  await changeUnerased(deps, refund, 'note: cannot be added', async (tx, current) => {
    // `message` is erased with the other words of a timeline; see prisma/migrations/20261124160000_timeline.
    await noteOnRefund(tx, current, { type: 'note.added', actor, detail: { message } });
    const { id: target, organizationId } = current;
    await writeAudit(tx, { organizationId, target, actor, action: 'refund.note_added' }, deps.clock.now());
  });
}
