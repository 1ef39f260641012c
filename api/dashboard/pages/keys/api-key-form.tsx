import { z } from 'zod';
import {
  type ApiKeyScope,
  apiKeyScopes,
  defaultScopes,
  maxExpiryDays,
} from '#shared/organizations/api-keys.ts';
import { Form } from '../../components/form.tsx';
import { useMember } from '../../http/access.ts';
import type { Choices } from '../../words/words.ts';

const aNumberOfDays = `Enter a number of days, 1 to ${maxExpiryDays}.`;

/** The fields of every new key. */
export const keyFields = {
  name: z
    .string()
    .default('')
    .meta({ title: 'Name', description: 'Optional. Shown here and under Activity.', maxLength: 100 }),
  expiresInDays: z
    .string()
    .trim()
    .regex(/^\d{0,4}$/, aNumberOfDays)
    .transform((text) => (text === '' ? null : Number(text)))
    .refine((days) => days === null || (days >= 1 && days <= maxExpiryDays), aNumberOfDays)
    .default(null)
    .meta({
      title: 'Expires after (days)',
      description: 'If empty, the key never expires.',
      format: 'digits',
      maxLength: 4,
    }),
};

/** A submitted form of a key for a backend. */
export const newKeySchema = z.object({
  ...keyFields,
  scopes: z
    .preprocess(
      (given) => [given ?? []].flat(),
      z.array(z.enum(apiKeyScopes, 'Select scopes from the list.')).min(1, 'Select at least one scope.'),
    )
    .meta({
      title: 'Scopes',
      description: "This key can't approve refunds requested by you or your API keys.",
      type: 'array',
    }),
});

const scopeWords: Record<ApiKeyScope, string> = {
  'refunds:read': 'Read refunds and events',
  'refunds:write': 'Create and cancel refunds',
  'refunds:approve': 'Approve and reject refunds',
  'policies:read': 'Check policies',
  'webhooks:manage': 'Manage webhook endpoints',
  'keys:manage': 'Manage agent keys',
};

/** With the names that errors and lists show. */
const scopeChoices: Choices = Object.entries(scopeWords).map(([scope, words]) => [
  scope,
  `${words} (${scope})`,
]);

/** The form that creates a key for a backend. */
export function NewKeyForm() {
  const { environment } = useMember();
  return (
    <Form
      to="/settings/api-keys"
      answeredIn="api-keys"
      title={`New ${environment} key`}
      submit={`Create ${environment} key`}
      schema={newKeySchema}
      choices={{ scopes: scopeChoices }}
      initial={{ scopes: defaultScopes }}
    />
  );
}
