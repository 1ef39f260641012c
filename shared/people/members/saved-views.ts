import type { Database } from '../../platform/database.ts';
import { ServiceError } from '../../platform/errors.ts';
import { redact } from '../../platform/log.ts';

/** The most that a member keeps in an organization, and the characters of each. */
export const savedViewLimits = { perMember: 20, name: 40, query: 2_000 } as const;

/** A member, whose views end with the membership. */
export interface ViewOwner {
  organizationId: string;
  userId: string;
}

/** A filter of the refunds list that a member keeps under a name. */
export interface SavedView {
  name: string;
  /** As in the address of the list: `?status=failed`. */
  query: string;
}

const printable = new RegExp(`^\\P{C}{1,${savedViewLimits.name}}$`, 'u');

/** A member's views, by name. */
export async function listSavedViews(db: Database, owner: ViewOwner): Promise<SavedView[]> {
  const where = { organizationId_userId: owner };
  const membership = await db.membership.findUnique({ where, select: { savedViews: true } });
  const views = (membership?.savedViews ?? {}) as Record<string, string>;
  return Object.entries(views)
    .map(([name, query]) => ({ name, query }))
    .sort((one, other) => one.name.localeCompare(other.name, 'en'));
}

/**
 * Keeps a view, in place of one with the same name. It is a member's own, so no audit entry says so.
 * @throws ServiceError validation_error for an impossible name, a secret, a filter that is too long, and when there are too many.
 */
export async function saveView(db: Database, owner: ViewOwner, { name, query }: SavedView): Promise<void> {
  const { organizationId, userId } = owner;
  if (!printable.test(name)) throw refused(`must be 1 to ${savedViewLimits.name} printable characters.`);
  const filter = decodeURIComponent(query.replaceAll('+', ' '));
  if (redact(name) !== name || redact(filter) !== filter)
    throw refused('cannot be saved with a card number or a secret.');
  if (query.length > savedViewLimits.query) throw refused('cannot be saved, because the filter is too long.');
  // A statement that waits for another one's change of the row counts again.
  const saved = await db.$executeRaw`
    UPDATE membership SET saved_views = saved_views || jsonb_build_object(${name}::text, ${query}::text)
    WHERE organization_id = ${organizationId} AND user_id = ${userId} AND (saved_views ? ${name}::text
      OR (SELECT count(*) FROM jsonb_object_keys(saved_views)) < ${savedViewLimits.perMember})`;
  if (saved === 0)
    throw refused(`cannot be one of more than ${savedViewLimits.perMember}. Delete another view first.`);
}

function refused(problem: string): ServiceError {
  return new ServiceError('validation_error', `name: ${problem}`);
}

/** Deletes a member's view. One that does not exist is deleted already. */
export async function deleteView(
  db: Database,
  { organizationId, userId }: ViewOwner,
  name: string,
): Promise<void> {
  await db.$executeRaw`
    UPDATE membership SET saved_views = saved_views - ${name}::text
    WHERE organization_id = ${organizationId} AND user_id = ${userId}`;
}
