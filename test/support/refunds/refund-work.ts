import { cancelRefund } from '#shared/refunds/lifecycle/cancel.ts';
import type { Flag } from '#shared/refunds/model/flags.ts';
import type { TestService } from '../service.ts';
import { waitFor } from '../wait-for.ts';
import { type RefundRecord, rowOf } from './refund-records.ts';

/** Puts off what is to be done for a refund. */
export async function putOff({ deps }: TestService, refundId: string, pauseMs: number): Promise<void> {
  await deps.db.$executeRaw`
    UPDATE refund_work SET due_at = service_time() + ${pauseMs} * interval '1 millisecond' WHERE refund_id = ${refundId}`;
}

/** Flags a refund directly in the database. */
export async function flagByHand(
  service: TestService,
  refundId: string,
  { reason, facts }: Flag = { reason: 'outcome_unknown', facts: { message: 'Flagged by a test' } },
): Promise<RefundRecord> {
  await service.deps.db.$executeRaw`
    INSERT INTO refund_work (refund_id, account_id, organization_id, environment, processor, flagged_at, flag_reason, flag_facts)
    SELECT id, account_id, organization_id, environment, processor, service_time(), ${reason}, ${JSON.stringify(facts)}::jsonb
    FROM refund WHERE id = ${refundId}
    ON CONFLICT (refund_id) DO UPDATE SET flagged_at = excluded.flagged_at, flag_reason = excluded.flag_reason,
      flag_facts = excluded.flag_facts`;
  return await rowOf(service, refundId);
}

/** Takes a lease by hand, as a worker does that is heard of no more; what it holds is due. */
export async function leaseByHand({ deps }: TestService, refundId: string, leaseMs: number): Promise<void> {
  await deps.db.$executeRaw`
    INSERT INTO refund_work (refund_id, account_id, organization_id, environment, processor, due_at, leased_until, lease_token)
    SELECT id, account_id, organization_id, environment, processor, service_time(),
      service_time() + ${leaseMs} * interval '1 millisecond', nextval('lease_token')
    FROM refund WHERE id = ${refundId}
    ON CONFLICT (refund_id) DO UPDATE SET leased_until = excluded.leased_until, lease_token = excluded.lease_token`;
}

/** Ends the work on a refund by hand, for a test that gives it an end of its own. */
export async function endWork({ deps }: TestService, refundId: string): Promise<void> {
  await deps.db.refundWork.deleteMany({ where: { refundId } });
}

/** Waits until no worker reads the refund and nothing says that it has to be read. */
export async function untilReviewed(service: TestService, refundId: string): Promise<RefundRecord> {
  await waitFor('the review to be over', async () => {
    const { status, dueAt, resyncRequestedAt, leasedUntil } = await rowOf(service, refundId);
    return resyncRequestedAt === null && leasedUntil === null && (status === 'processing' || dueAt === null);
  });
  return await rowOf(service, refundId);
}

/** Asks for a refund to be cancelled, as a program does without an idempotency key. */
export async function askToCancel(
  service: TestService,
  { id: refundId, organizationId, environment }: RefundRecord,
): Promise<void> {
  const asked = { refundId, organizationId, environment, actor: 'test', idempotencyKey: null };
  await cancelRefund(service.deps, asked);
}
