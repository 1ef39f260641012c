import type { DatabaseTransaction, Prisma } from './db.ts';
import { newId } from './ids.ts';

/** An act of administration: who did what to which. It is kept for good, so nothing secret goes into it. */
export interface AuditEntry {
  organizationId: string;
  /** Who did it: `cli:<user of the machine>`, `user:<id>`. */
  actor: string;
  /** For example `key.revoked`. */
  action: string;
  /** The id of what was changed. */
  target: string;
  detail?: Prisma.InputJsonObject;
}

/** Writes an act down in the database transaction that carries it out, so that neither exists without the other. */
export async function writeAudit(tx: DatabaseTransaction, entry: AuditEntry, now: Date): Promise<void> {
  await tx.auditLog.create({ data: { detail: {}, ...entry, id: newId('aud'), createdAt: now } });
}
