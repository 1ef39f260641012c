import { vi } from 'vitest';
import type { z } from 'zod';
import type { Dependencies } from '#shared/dependencies.ts';
import { createApiKey } from '#shared/organizations/api-keys.ts';
import type { agentLimitsSchema } from '#shared/policies/agent-limits.ts';
import type { RefundRequest } from '#shared/refunds/lifecycle/decide.ts';
import type { RequestingKey } from '#shared/refunds/lifecycle/examine.ts';
import type { TestService } from '../service.ts';

/** A request of the organization's test key for 10.00 USD. */
export function refundRequest(
  { organization: { id: organizationId, keys } }: Pick<TestService, 'organization'>,
  transactionId: string,
  more: Partial<RefundRequest> = {},
): RefundRequest {
  const apiKey = more.apiKey ?? { id: keys.test.id, agentLimits: null };
  return {
    ...{ organizationId, environment: 'test', apiKey, initiatedBy: 'api', actor: `key:${apiKey.id}` },
    ...{ transactionId, amount: 1_000n, currency: 'usd', reason: 'other', processor: undefined },
    ...{ metadata: null, idempotency: null },
    ...more,
  };
}

/** Makes a test agent key. @param actor who makes it; by default, it is made on the command line. */
export async function agentKey(
  { deps, organization: { id: organizationId } }: TestService,
  limits: Partial<z.input<typeof agentLimitsSchema>>,
  actor = 'test',
): Promise<RequestingKey & { plaintext: string }> {
  const made = await createApiKey(deps, { organizationId, environment: 'test', actor });
  const agentLimits = { currency: 'usd', ...limits };
  await deps.db.apiKey.update({ where: { id: made.id }, data: { agentLimits } });
  return { ...made, agentLimits };
}

/**
 * Holds decisions once they have read their payment, and releases all of them when a number is held, so that they decide on the
 * same state. Later ones are not held.
 */
export function holdDecisions(processes: readonly Dependencies[], releasedAt: number): void {
  let held = 0;
  let release = () => {};
  const released = new Promise<void>((resolve) => {
    release = resolve;
  });
  for (const { lookups } of processes) {
    const payment = lookups.payment.bind(lookups);
    vi.spyOn(lookups, 'payment').mockImplementation(async (...given) => {
      const stored = await payment(...given);
      held += 1;
      if (held >= releasedAt) release();
      await released;
      return stored;
    });
  }
}
