import type { RefundOwner } from '../../../../shared/refunds/find-refunds.ts';
import type { Context } from '../../access.ts';

/** Whose refunds a page is about: those of the organization and environment in its address, and no others. */
export function ownerOf({ organization, environment }: Context): RefundOwner {
  return { organizationId: organization.id, environment };
}
