import type { TestService } from './service.ts';

/** What the audit log tells of one thing, oldest first. */
export async function auditOf({ deps }: TestService, target: string) {
  return await deps.db.auditLog.findMany({
    where: { target },
    orderBy: [{ createdAt: 'asc' }, { id: 'asc' }],
  });
}
