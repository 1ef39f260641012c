import { z } from 'zod';
import type { ApiKey } from '../../../shared/platform/database.ts';
import { ServiceError } from '../../../shared/platform/errors.ts';
import { createRefund } from '../../../shared/refunds/lifecycle/create.ts';
import type { IdempotencyKey } from '../../../shared/refunds/lifecycle/decide.ts';
import { dryRunRefund } from '../../../shared/refunds/lifecycle/dry-run.ts';
import type { ApiDependencies } from '../../http/dependencies.ts';
import { idempotencyKeySchema } from '../../http/request-headers.ts';
import {
  createRefundSchema,
  fingerprintOfCreation,
  outcomeOfCreation,
  type RefundContent,
  requestedBy,
} from '../../routes/refunds/create.ts';
import { dryRunSchema } from '../../routes/refunds/dry-run-schema.ts';
import { refundSchema } from '../../routes/refunds/refund-schema.ts';
import { deriveIdempotencyKey } from './derived-key.ts';
import { defineTool } from './tool.ts';

export const createRefundTool = defineTool({
  name: 'create_refund',
  title: 'Create refund',
  description:
    'Refunds a payment, in full or in part. `amount` is a whole number in minor units of the currency: 1050 is 10.50 USD. ' +
    'Money moves, so check first that the customer is entitled to it and that payment, amount and currency are right; with ' +
    '`dryRun: true` nothing is sent, and the answer says what would happen and how much is left to refund.\n' +
    'The status of the refund: `processing` means that the processor has it or will get it, and it settles later; ' +
    '`pending` means that a person must approve it first. Say so, and follow it with get_refund; do not create another one.\n' +
    'Repeating a call is safe: within 24 hours the same arguments are the same refund (`replayed: true`). For a second, ' +
    'identical refund on purpose, or to try again after the processor rejected one, pass a new `idempotencyKey`.\n' +
    'After an error, do what its message says. policy_denied and insufficient_scope are decisions of the organization: ' +
    'tell the user, and do not split the amount or change the reason to get around them. After service_unavailable, ' +
    'rate_limited or internal_error repeat the same call.',
  scope: 'refunds:write',
  annotations: { readOnlyHint: false, destructiveHint: true, idempotentHint: true, openWorldHint: true },
  input: createRefundSchema.extend({
    idempotencyKey: idempotencyKeySchema.optional().meta({
      description:
        'Names this refund: 1 to 255 visible ASCII characters. A call with the same key and arguments is the same refund, ' +
        'however late. Without it, a call is the same refund as an equal one of the last 24 hours.',
    }),
  }),
  outputs: [
    z.object({
      refund: refundSchema,
      idempotencyKey: z
        .string()
        .meta({ description: 'The key given, or the one derived from the arguments.' }),
      replayed: z
        .boolean()
        .meta({ description: 'True when an earlier call created the refund: nothing new has happened.' }),
    }),
    dryRunSchema,
  ],
  async run(deps, apiKey, { idempotencyKey, dryRun = false, ...content }) {
    const idempotency = await idempotencyOf(deps, apiKey, content, idempotencyKey);
    const asked = requestedBy(apiKey, 'mcp', content, idempotency);
    if (dryRun) return await dryRunRefund(deps, asked);
    const created = await createRefund(deps, asked);
    const answer = await outcomeOfCreation(deps, created, deps.settings.CREATE_WAIT_MS);
    if (answer instanceof ServiceError) throw answer;
    return { refund: answer, idempotencyKey: idempotency.key, replayed: created.isReplayed };
  },
});

/** The key that was given, or the one of an equal call. A call that also names the processor, or empty metadata, is equal. */
async function idempotencyOf(
  { reads }: Pick<ApiDependencies, 'reads'>,
  apiKey: ApiKey,
  content: RefundContent,
  given: string | undefined,
): Promise<IdempotencyKey> {
  if (given !== undefined) return { key: given, fingerprint: fingerprintOfCreation(content) };
  const { processor: _, metadata, ...meant } = content;
  const isEmpty = Object.keys(metadata ?? {}).length === 0;
  const fingerprint = fingerprintOfCreation(isEmpty ? meant : { ...meant, metadata });
  return { key: await deriveIdempotencyKey(reads, apiKey, fingerprint), fingerprint };
}
