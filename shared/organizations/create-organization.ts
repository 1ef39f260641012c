import { writeAudit } from '../audit-log.ts';
import type { Dependencies } from '../dependencies.ts';
import { ServiceError } from '../errors.ts';
import { newId } from '../ids.ts';
import { defaultPolicy } from '../policies/policy.ts';
import { insertPolicies } from './policies.ts';

const namePattern = /^[^\p{Cc}]{1,200}$/u;

/**
 * Creates an organization with the default policy; everything else is set up afterwards.
 * @throws ServiceError validation_error for a name that is empty, too long or not printable.
 */
export async function createOrganization(
  deps: Pick<Dependencies, 'db' | 'clock'>,
  request: { name: string; actor: string },
): Promise<{ id: string }> {
  const name = request.name.trim();
  if (!namePattern.test(name)) {
    throw new ServiceError('validation_error', 'name: has to be 1 to 200 printable characters.');
  }
  const id = newId('org');
  const now = deps.clock.now();
  await deps.db.$transaction(async (tx) => {
    await tx.organization.create({ data: { id, name, createdAt: now } });
    await insertPolicies(tx, id, [defaultPolicy], now);
    const { actor } = request;
    await writeAudit(
      tx,
      { organizationId: id, actor, action: 'organization.created', target: id, detail: { name } },
      now,
    );
  });
  return { id };
}
