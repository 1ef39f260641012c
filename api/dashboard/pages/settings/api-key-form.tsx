import { z } from 'zod';
import { type ApiKeyScope, apiKeyScopes, maxExpiryDays } from '#shared/organizations/api-keys.ts';
import type { Context } from '../../http/access.ts';
import { Submit } from '../../layout/button.tsx';
import {
  answeredIn,
  CheckboxesField,
  CsrfField,
  FormNotice,
  type FormState,
  TextField,
} from '../../layout/form.tsx';

/** A submitted form, invalid ones with messages. */
export const newKeySchema = z.object({
  name: z.string().default(''),
  expiresInDays: z
    .string()
    .trim()
    .regex(/^\d{0,4}$/, { error: `Enter a number of days, 1 to ${maxExpiryDays}.` })
    .transform((text) => (text === '' ? null : Number(text)))
    .refine((days) => days === null || (days >= 1 && days <= maxExpiryDays), {
      error: `Enter a number of days, 1 to ${maxExpiryDays}.`,
    })
    .default(null),
  scopes: z.preprocess(
    (given) => [given ?? []].flat(),
    z
      .array(z.enum(apiKeyScopes, { error: 'Select scopes from the list.' }))
      .min(1, { error: 'Select at least one scope.' }),
  ),
});

const scopeWords: Record<ApiKeyScope, string> = {
  'refunds:read': 'Read refunds and events',
  'refunds:write': 'Create and cancel refunds',
  'refunds:approve': 'Approve and reject refunds',
  'policies:read': 'Check policies',
  'webhooks:manage': 'Manage webhook endpoints',
  'keys:manage': 'Manage API agent keys',
};

interface NewKeyFormProps {
  context: Context;
  /** Where the form is posted. */
  to: string;
  form: FormState;
}

/** The form that creates a key. */
export function NewKeyForm({ context, to, form }: NewKeyFormProps) {
  return (
    <form {...answeredIn('api-keys', to)} class="card stack" aria-labelledby="new-key-title">
      <h2 id="new-key-title">New {context.environment} key</h2>
      <FormNotice problems={form.problems} />
      <div class="fields">
        <TextField
          form={form}
          name="name"
          label="Name"
          hint="Optional. Shown here and in the audit log."
          maxLength={100}
        />
        <TextField
          form={form}
          name="expiresInDays"
          label="Expires after (days)"
          hint="If empty, the key never expires."
          inputMode="numeric"
          maxLength={4}
        />
      </div>
      <CheckboxesField
        form={form}
        name="scopes"
        label="Scopes"
        hint="This key can't approve refunds requested by you or your API keys."
        choices={apiKeyScopes.map((scope) => [scope, scopeWords[scope]])}
      />
      <CsrfField token={context.csrfToken} />
      <div>
        <Submit kind="primary">Create {context.environment} key</Submit>
      </div>
    </form>
  );
}
