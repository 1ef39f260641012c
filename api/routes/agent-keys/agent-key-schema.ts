import { z } from 'zod';
import {
  type ApiKeyStatus,
  type ApiKeySummary,
  agentScopes,
  apiKeyStatus,
  checkKeyExpiry,
  checkKeyName,
} from '../../../shared/organizations/api-keys.ts';
import type { Clock } from '../../../shared/platform/clock.ts';
import { environments } from '../../../shared/platform/environment.ts';
import { agentLimitsSchema } from '../../../shared/policies/agent-limits.ts';
import { checkedBy, required } from '../refunds/refund-schema.ts';

export const exampleAgentKey = {
  id: 'key_01kahw5e2pf9c8m0r4t6v8x1zb',
  name: 'Support agent',
  environment: 'test',
  lastFour: 'x7Qa',
  scopes: [...agentScopes],
  limits: {
    currency: 'usd',
    maxPerRefund: 5000,
    maxPerDay: 50_000,
    reasons: ['product_not_received', 'product_defective'],
    approvalAbove: 2000,
  },
  status: 'active',
  createdBy: 'key:key_01kahvzr0b7qv3s5j8n2d4f6hk',
  createdAt: '2026-11-20T09:30:00.000Z',
  lastUsedAt: null,
  expiresAt: null,
};

/** The name of a key, in a body. */
export const keyNameSchema = z
  .string({ error: required('must be a string') })
  .trim()
  .min(1, { error: 'must not be empty' })
  .superRefine(checkedBy(checkKeyName))
  .meta({ description: '1 to 100 printable characters.', examples: [exampleAgentKey.name] });

/** When a key expires, in a body. */
export const expiresAtSchema = (clock: Clock) =>
  z.iso
    .datetime({ offset: true, error: 'must be an ISO 8601 time with a time zone' })
    .superRefine(checkedBy((text) => checkKeyExpiry(new Date(text), clock.now())))
    .nullish()
    .meta({
      description: 'When the key stops working; never by default.',
      examples: ['2027-01-01T00:00:00.000Z'],
    });

const { shape } = agentLimitsSchema;

type AmountField = 'maxPerRefund' | 'maxPerPayment' | 'maxPerDay' | 'approvalAbove';

/** An amount as it is in JSON. */
const amount = (field: AmountField, description: string) =>
  shape[field].unwrap().in.optional().meta({ description });

/** The limits of a key as they are in JSON; `agentLimitsSchema` decodes them. */
export const limitsSchema = agentLimitsSchema
  .extend({
    currency: shape.currency.meta({ description: 'ISO 4217. Refunds in another currency are refused.' }),
    maxPerRefund: amount('maxPerRefund', 'The most of one refund.'),
    maxPerPayment: amount('maxPerPayment', 'The most of all refunds of one payment together.'),
    maxPerDay: amount('maxPerDay', 'The most that this key may request in 24 hours.'),
    reasons: shape.reasons.meta({ description: 'The reasons that are allowed; any unless given.' }),
    approvalAbove: amount(
      'approvalAbove',
      'A refund awaits approval if all refunds of its payment come to more than this.',
    ),
  })
  .meta({
    description:
      'What an agent may refund with a key, in the smallest unit of `currency`, inclusive. What is left out does not limit.',
    examples: [exampleAgentKey.limits],
  });

export const agentKeySchema = z
  .object({
    id: z.string().meta({ description: 'Opaque, prefixed with key_.' }),
    name: z.string().meta({ description: 'As it was given.' }),
    environment: z.enum(environments).meta({ description: 'That of the key which created it.' }),
    lastFour: z.string().meta({ description: 'The last four characters of the key.' }),
    scopes: z.array(z.enum(agentScopes)).meta({ description: 'What the key may do.' }),
    limits: limitsSchema,
    status: z
      .enum(['active', 'stopped', 'expired'])
      .meta({ description: 'A stopped key gets a 403 response, an expired one a 401.' }),
    createdBy: z.string().meta({ description: '`key:<id>` for a key that was created through the API.' }),
    createdAt: z.string().meta({ format: 'date-time', description: 'UTC, with milliseconds.' }),
    lastUsedAt: z.string().nullable().meta({ format: 'date-time', description: 'To the minute.' }),
    expiresAt: z
      .string()
      .nullable()
      .meta({ format: 'date-time', description: 'When the key stops working; null for never.' }),
  })
  .meta({ id: 'AgentKey', description: 'An API key made for agents.', examples: [exampleAgentKey] });

/** An agent key as clients see it. */
export function toPublicAgentKey(key: ApiKeySummary, now: Date): z.output<typeof agentKeySchema> {
  const { id, name, environment, lastFour, scopes, agentLimits, createdBy } = key;
  return {
    id,
    name,
    environment,
    lastFour,
    scopes: agentScopes.filter((scope) => scopes.includes(scope)),
    limits: agentLimits as z.output<typeof limitsSchema>,
    // Revoked keys are not found.
    status: apiKeyStatus(key, now) as Exclude<ApiKeyStatus, 'revoked'>,
    createdBy,
    createdAt: key.createdAt.toISOString(),
    lastUsedAt: key.lastUsedAt?.toISOString() ?? null,
    expiresAt: key.expiresAt?.toISOString() ?? null,
  };
}

export const agentKeyParamsSchema = z.object({
  id: z.string().meta({ description: 'The id of the key, key_...', examples: [exampleAgentKey.id] }),
});
