import { isDeepStrictEqual } from 'node:util';
import { type AuditAction, writeAudit } from '../audit/audit-log.ts';
import type { Prisma, Stores } from '../platform/database.ts';
import { ServiceError } from '../platform/errors.ts';
import { type AgentLimits, agentLimitsSchema } from '../policies/agent-limits.ts';
import { type ApiKeySummary, checkedKeyName } from './api-keys.ts';

/** What is changed about a key; what is left out stays. */
interface ApiKeyChange {
  /** Up to 100 printable characters. */
  name?: string | undefined;
  /** Replaces all limits of an agent key. */
  limits?: AgentLimits | undefined;
  /** A stopped key is refused until it is resumed. */
  isStopped?: boolean | undefined;
}

/**
 * Changes a key, effective from the next request. Values that are unchanged are not written.
 * @throws ServiceError not_found for an unknown key; validation_error for a revoked one, a name that is too long or not
 * printable, and limits of a key that was not made for agents.
 */
export async function changeApiKey(
  deps: Stores,
  request: { keyId: string; actor: string; change: ApiKeyChange },
): Promise<ApiKeySummary> {
  const { keyId, actor, change } = request;
  const now = deps.clock.now();
  return await deps.db.$transaction(async (tx) => {
    await tx.$queryRaw`SELECT 1 FROM api_key WHERE id = ${keyId} FOR UPDATE`;
    const key = await tx.apiKey.findUnique({ where: { id: keyId }, omit: { hash: true } });
    if (key === null) throw new ServiceError('not_found', `API key not found: ${keyId}`);
    if (key.revokedAt !== null) {
      throw new ServiceError(
        'validation_error',
        `${keyId} is revoked and can't be changed. Create a new key.`,
      );
    }
    const changes = changesOf(key, change, now);
    if (changes.length === 0) return key;
    for (const { action, detail } of changes) {
      const { organizationId, environment, lastFour } = key;
      const entry = { organizationId, actor, action, target: keyId };
      await writeAudit(tx, { ...entry, detail: { environment, lastFour, ...detail } }, now);
    }
    const data = Object.assign({}, ...changes.map((each) => each.data)) as Prisma.ApiKeyUpdateInput;
    return await tx.apiKey.update({ where: { id: keyId }, data, omit: { hash: true } });
  });
}

interface Change {
  action: AuditAction;
  data: Prisma.ApiKeyUpdateInput;
  detail?: Prisma.InputJsonObject;
}

function changesOf(key: ApiKeySummary, { name, limits, isStopped }: ApiKeyChange, now: Date): Change[] {
  const changes: Change[] = [];
  const newName = name === undefined ? key.name : checkedKeyName(name);
  if (newName !== key.name) {
    changes.push({ action: 'key.renamed', data: { name: newName }, detail: { from: key.name, to: newName } });
  }
  if (limits !== undefined) {
    if (key.agentLimits === null) {
      throw new ServiceError(
        'validation_error',
        'limits: only a key made for agents has limits. Create one.',
      );
    }
    const agentLimits = asStored(limits);
    if (!isDeepStrictEqual(agentLimits, key.agentLimits)) {
      changes.push({ action: 'key.limits_set', data: { agentLimits }, detail: { limits: agentLimits } });
    }
  }
  if (isStopped === true && key.stoppedAt === null) {
    changes.push({ action: 'key.stopped', data: { stoppedAt: now } });
  }
  if (isStopped === false && key.stoppedAt !== null) {
    changes.push({ action: 'key.resumed', data: { stoppedAt: null } });
  }
  return changes;
}

/** Limits as the database returns them: without fields that are undefined. */
function asStored(limits: AgentLimits): Prisma.InputJsonObject {
  return JSON.parse(JSON.stringify(agentLimitsSchema.encode(limits)));
}
