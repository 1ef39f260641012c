import { z } from 'zod';
import { isCurrency } from '../../../shared/money/money.ts';
import type { ApiKey, Refund } from '../../../shared/platform/database.ts';
import { ServiceError } from '../../../shared/platform/errors.ts';
import { processorNames } from '../../../shared/processors/registry.ts';
import { type CreatedRefund, createRefund } from '../../../shared/refunds/lifecycle/create.ts';
import type { IdempotencyKey, RefundRequest } from '../../../shared/refunds/lifecycle/decide.ts';
import { dryRunRefund } from '../../../shared/refunds/lifecycle/dry-run.ts';
import { type InitiatedBy, refundReasons } from '../../../shared/refunds/model/reasons.ts';
import {
  asCreated,
  metadataLimits,
  type PublicRefund,
  toPublicRefund,
} from '../../../shared/refunds/model/refund.ts';
import { nothingLeft } from '../../../shared/refunds/model/refusals.ts';
import type { WatchedRefund } from '../../../shared/refunds/queries/refund-watcher.ts';
import type { ApiDependencies } from '../../http/dependencies.ts';
import { operation } from '../../http/operation.ts';
import { fingerprintOf, idempotentHeadersSchema } from '../../http/request-headers.ts';
import { jsonResponse } from '../../http/route.ts';
import { dryRunSchema, exampleDryRun, exampleRefusedDryRun } from './dry-run-schema.ts';
import { checkMetadata } from './metadata-schema.ts';
import {
  amountSchema,
  checkedBy,
  exampleRefund,
  jsonObject,
  refundSchema,
  required,
  transactionIdSchema,
} from './refund-schema.ts';

export const createRefundSchema = jsonObject({
  transactionId: transactionIdSchema,
  amount: amountSchema,
  reason: z
    .enum(refundReasons, { error: required(`must be one of: ${refundReasons.join(', ')}`) })
    .meta({ description: 'Why the payment is refunded.' }),
  currency: z
    .string({ error: 'must be a string' })
    .regex(/^[A-Za-z]{3}$/, { error: 'must be a three-letter ISO 4217 currency code' })
    .refine((code) => isCurrency(code.toLowerCase()), { error: 'must be an ISO 4217 currency' })
    .default('usd')
    .meta({ description: 'ISO 4217; must be the currency of the payment.', examples: ['usd'] }),
  processor: z
    .enum(processorNames, { error: `must be one of: ${processorNames.join(', ')}` })
    .optional()
    .meta({ description: 'Detected from the payment when omitted.', examples: ['stripe'] }),
  metadata: z
    .record(z.string(), z.unknown(), { error: 'must be an object' })
    .superRefine(checkedBy(checkMetadata))
    .nullable()
    .optional()
    .meta({
      description:
        `Stored with the refund: up to ${metadataLimits.keys} keys of 1 to ${metadataLimits.keyLength} characters, ` +
        `${metadataLimits.depth} levels deep, ${metadataLimits.bytes} bytes as JSON. Do not include card numbers.`,
      examples: [{ ticket: 'T-1001' }],
    }),
  dryRun: z.boolean({ error: 'must be true or false' }).optional().meta({
    description: 'True to learn what the creation would come to. Nothing is reserved, sent or stored.',
  }),
}).meta({
  examples: [
    {
      transactionId: 'ch_3QfX2eLkdIwHu7ix',
      amount: 1500,
      reason: 'product_defective',
      metadata: { ticket: 'T-1001' },
    },
  ],
});

const createdResponse = jsonResponse(
  'The refund as created; `externalRefundId` is null until the processor has one. For a dry run, what the creation would ' +
    'come to.',
  z.object({ data: z.union([refundSchema, dryRunSchema]) }),
  {
    refund: { value: { data: exampleRefund } },
    dryRun: { value: { data: exampleDryRun } },
    refusedDryRun: { value: { data: exampleRefusedDryRun } },
  },
);

export const createRefundOperation = operation({
  id: 'createRefund',
  method: 'POST',
  path: '/v1/refunds',
  scope: 'refunds:write',
  tag: 'Refunds',
  summary: 'Create a refund',
  description:
    'Responds when the processor has accepted or rejected the refund, or after a few seconds, in which case the ' +
    'refund is recorded and processed later. A rejected refund stays on record as failed; `Location` names it. ' +
    'With `dryRun` it responds at once with what the creation would come to, and creates nothing.',
  headers: idempotentHeadersSchema,
  body: createRefundSchema,
  response: createdResponse,
  errors: ['policy_denied', 'refund_already_processed', 'processor_error'],
  async run(deps, { apiKey, body: { dryRun = false, ...content }, idempotencyKey, waitMs, setHeader }) {
    const key = idempotencyKey();
    const idempotency = key === null ? null : { key, fingerprint: fingerprintOfCreation(content) };
    const asked = requestedBy(apiKey, 'api', content, idempotency);
    if (dryRun) return { data: await dryRunRefund(deps, asked) };
    const created = await createRefund(deps, asked);
    if (created.isReplayed) setHeader('idempotent-replayed', 'true');
    const answer = await outcomeOfCreation(deps, created, waitMs(deps.settings.CREATE_WAIT_MS));
    if (answer instanceof ServiceError) {
      setHeader('location', `/v1/refunds/${created.refund.id}`);
      throw answer;
    }
    return { data: answer };
  },
});

export type RefundContent = Omit<z.output<typeof createRefundSchema>, 'dryRun'>;

/** The request of an API key. */
export function requestedBy(
  apiKey: ApiKey,
  initiatedBy: InitiatedBy,
  content: RefundContent,
  idempotency: IdempotencyKey | null,
): RefundRequest {
  const { amount, currency, metadata = null, processor, ...rest } = content;
  const { organizationId, environment } = apiKey;
  return {
    ...rest,
    organizationId,
    environment,
    apiKey,
    initiatedBy,
    actor: `key:${apiKey.id}`,
    amount: BigInt(amount),
    currency: currency.toLowerCase(),
    processor,
    metadata,
    idempotency,
  };
}

/** What idempotency keys of creations are bound to: not how a currency is written, or that there is no metadata. */
export function fingerprintOfCreation({
  metadata,
  currency,
  ...content
}: RefundContent): Uint8Array<ArrayBuffer> {
  return fingerprintOf('POST /v1/refunds', {
    ...content,
    currency: currency.toLowerCase(),
    ...(metadata == null ? {} : { metadata }),
  });
}

/**
 * Waits for the processor's decision. An outcome that is still unknown is no error.
 * @returns the refund, or the error for one that failed while it was created.
 */
export async function outcomeOfCreation(
  deps: ApiDependencies,
  { refund, isReplayed }: CreatedRefund,
  waitMs: number,
): Promise<PublicRefund | ServiceError> {
  const waits = refund.status === 'processing' && refund.externalRefundId === null;
  const decided = () => deps.watcher.waitFor(refund.id, hasVerdict, waitMs);
  const latest = (waits ? await deps.whileWaiting(decided) : null) ?? refund;
  if (latest.status === 'failed' && latest.externalRefundId === null) return rejectionOf(latest);
  // A repeated request gets the refund as it is now.
  return isReplayed || latest.status === 'pending' ? toPublicRefund(latest) : asCreated(latest);
}

function hasVerdict(refund: WatchedRefund): boolean {
  return refund.externalRefundId !== null || refund.status !== 'processing';
}

/** The error for a refund that failed while it was created. */
function rejectionOf({
  failureCode,
  failureMessage,
}: Pick<Refund, 'failureCode' | 'failureMessage'>): ServiceError {
  const message = failureMessage ?? 'The processor rejected the refund.';
  switch (failureCode) {
    case 'already_refunded':
      return nothingLeft();
    case 'amount_too_large':
      return new ServiceError('validation_error', `amount: ${message}`);
    case 'currency_mismatch':
      return new ServiceError('validation_error', `currency: ${message}`);
    default:
      return new ServiceError('processor_error', message);
  }
}
