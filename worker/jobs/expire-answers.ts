import type { Dependencies } from '../../shared/dependencies.ts';
import { answerKeptMs } from '../../shared/idempotency.ts';

/**
 * Forgets the stored answers of idempotent requests after their time. A key that made a refund stays bound to it, so
 * that it never makes another one.
 */
export async function expireAnswers({ db, clock }: Dependencies): Promise<void> {
  const before = new Date(clock.now().getTime() - answerKeptMs);
  await db.idempotencyKey.deleteMany({ where: { answeredAt: { lt: before }, refundId: null } });
  await db.idempotencyKey.updateMany({
    where: { answeredAt: { lt: before }, statusCode: { not: null } },
    data: { statusCode: null, body: null },
  });
}
