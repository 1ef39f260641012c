import { setTimeout as sleep } from 'node:timers/promises';
import { ServiceError } from '../../../../shared/errors.ts';
import { toPublicRefund } from '../../../../shared/refunds/refund.ts';
import { requestRefund } from '../../../../shared/refunds/request-refund.ts';
import type { ApiDependencies } from '../../../dependencies.ts';
import { type Answer, fingerprintOf, runOnce } from '../../../idempotency.ts';
import type { Context } from '../../access.ts';
import type { RefundEntry } from './create-entry.ts';

/** How long the second of two clicks waits for what comes of the first. */
const patienceMs = 5_000;

/**
 * Asks for a refund, once per form: whoever sends the same form again is led to the same refund.
 * @param formKey from the form; it says nothing to the forms of other people.
 * @returns the refund's id.
 * @throws ServiceError for a refusal, as the public contract has it for a creation.
 */
export async function createOnce(
  deps: ApiDependencies,
  context: Context,
  entry: RefundEntry,
  formKey: string,
): Promise<string> {
  const owner = context.owner;
  const actor = context.actor;
  const fingerprint = fingerprintOf('dashboard refund', { ...entry, amount: entry.amount.toString() });
  const keyed = { ...owner, key: `dashboard/${actor}/${formKey}`, fingerprint };
  const request = { ...owner, ...entry, actor, apiKeyId: null, initiatedBy: 'dashboard' as const };
  const until = performance.now() + patienceMs;
  for (;;) {
    try {
      const answer = await runOnce(deps, keyed, async (bind) => {
        const refund = await requestRefund(deps, request, bind);
        return { status: 200, body: { data: toPublicRefund(refund) } };
      });
      return refundOf(answer);
    } catch (error) {
      const isRunning = error instanceof ServiceError && error.code === 'idempotency_in_progress';
      if (!isRunning || performance.now() > until) throw error;
      await sleep(100);
    }
  }
}

/** What was answered the first time, in the form in which it is kept. */
function refundOf({ body }: Answer): string {
  const { data, error } = body as {
    data?: { id: string };
    error?: { code: ServiceError['code']; message: string };
  };
  if (data !== undefined) return data.id;
  throw new ServiceError(error?.code ?? 'internal_error', error?.message ?? 'The answer is not kept.');
}
