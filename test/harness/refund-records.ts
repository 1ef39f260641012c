import type { Refund } from '../../shared/db.ts';
import type { TestService } from './service.ts';
import { waitFor } from './wait-for.ts';

/** An id as ours are, of a refund that is nowhere. */
export const unknownRefundId = 'ref_01kahw3v6me8fbw6r5k2jdz7qs';

export async function rowOf({ deps }: TestService, refundId: string): Promise<Refund> {
  return await deps.db.refund.findUniqueOrThrow({ where: { id: refundId } });
}

/** Waits until the refund has this status. */
export async function untilStatus(service: TestService, refundId: string, status: string): Promise<Refund> {
  return await waitFor(`refund ${refundId} to be ${status}`, async () => {
    const refund = await rowOf(service, refundId);
    return refund.status === status ? refund : null;
  });
}

/** The types of a refund's events, in their order. */
export async function timelineOf({ deps }: TestService, refundId: string): Promise<string[]> {
  const events = await deps.db.refundEvent.findMany({ where: { refundId }, orderBy: { seq: 'asc' } });
  return events.map(({ type }) => type);
}
