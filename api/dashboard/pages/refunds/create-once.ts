import { createRefund } from '../../../../shared/refunds/lifecycle/create.ts';
import type { ApiDependencies } from '../../../http/dependencies.ts';
import { fingerprintOf } from '../../../http/request-headers.ts';
import type { Context } from '../../http/access.ts';
import type { RefundEntry } from './create-entry.ts';

/**
 * Creates a refund, once per form: whoever sends the same form again is led to the same refund.
 * @param formKey from the form; it says nothing to the forms of other people.
 * @returns the refund's id.
 * @throws ServiceError for a refusal, as the public contract has it for a creation.
 */
export async function createOnce(
  deps: ApiDependencies,
  { owner, actor }: Context,
  entry: RefundEntry,
  formKey: string,
): Promise<string> {
  const fingerprint = fingerprintOf('dashboard refund', { ...entry, amount: entry.amount.toString() });
  const { refund } = await createRefund(deps, {
    ...owner,
    ...entry,
    actor,
    apiKeyId: null,
    initiatedBy: 'dashboard',
    idempotency: { key: `dashboard/${actor}/${formKey}`, fingerprint },
  });
  return refund.id;
}
