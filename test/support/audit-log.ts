import type { TestService } from './service.ts';

/** The audit log of a target, oldest first. */
export async function auditOf({ deps }: TestService, target: string) {
  return await deps.db.auditLog.findMany({
    where: { target },
    orderBy: [{ createdAt: 'asc' }, { id: 'asc' }],
  });
}
