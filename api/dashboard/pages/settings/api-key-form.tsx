import { z } from 'zod';
import {
  type ApiKeyScope,
  apiKeyScopes,
  defaultScopes,
  maxExpiryDays,
} from '../../../../shared/organizations/api-keys.ts';
import type { Context } from '../../http/access.ts';
import { entered, type FormProblems } from '../../http/forms.ts';
import { CsrfField, Field, FormNotice, inputProps } from '../../layout/form.tsx';
import { answeredIn } from './settings-frame.tsx';

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
      .min(1, { error: 'Select at least one.' }),
  ),
});

const scopeWords: Record<ApiKeyScope, string> = {
  'refunds:read': 'Read refunds and events',
  'refunds:write': 'Create and cancel refunds',
  'refunds:approve': 'Approve and reject refunds',
  'policies:read': 'Check policies',
  'webhooks:manage': 'Manage webhook endpoints',
  'keys:manage': 'Manage API keys for agents',
};

interface NewKeyFormProps {
  context: Context;
  /** Where the form is posted. */
  to: string;
  problems: FormProblems;
  /** A submitted form with problems; undefined for a new one. */
  body: unknown;
}

/** The form that creates a key. */
export function NewKeyForm({ context, to, problems, body }: NewKeyFormProps) {
  return (
    <form {...answeredIn('api-keys', to)} class="card stack" aria-labelledby="new-key-title">
      <h2 id="new-key-title">New {context.environment} key</h2>
      <FormNotice problems={problems} />
      <div class="fields">
        <Field
          name="name"
          label="Name"
          hint="Optional. Shown here and in the audit log."
          problem={problems.name}
        >
          <input
            {...inputProps('name', problems.name)}
            value={entered(body, 'name')}
            maxLength={100}
            autocomplete="off"
          />
        </Field>
        <Field
          name="expiresInDays"
          label="Expires in days"
          hint="If empty, the key never expires."
          problem={problems.expiresInDays}
        >
          <input
            {...inputProps('expiresInDays', problems.expiresInDays)}
            value={entered(body, 'expiresInDays')}
            inputMode="numeric"
            maxLength={4}
            autocomplete="off"
          />
        </Field>
      </div>
      <Scopes selected={selectedIn(body)} problem={problems.scopes} />
      <CsrfField token={context.csrfToken} />
      <div>
        <button type="submit" class="button" data-kind="primary">
          Create {context.environment} key
        </button>
      </div>
    </form>
  );
}

function selectedIn(body: unknown): readonly string[] {
  if (body === undefined) return defaultScopes;
  const { scopes } = (body ?? {}) as { scopes?: unknown };
  return [scopes ?? []].flat().filter((scope) => typeof scope === 'string');
}

function Scopes({ selected, problem }: { selected: readonly string[]; problem: string | undefined }) {
  return (
    <fieldset class="field" aria-describedby="scopes-hint scopes-problem">
      <legend class="label">Scopes</legend>
      <div class="row">
        {apiKeyScopes.map((scope) => (
          <label key={scope}>
            <input type="checkbox" name="scopes" value={scope} checked={selected.includes(scope)} />{' '}
            {scopeWords[scope]}
          </label>
        ))}
      </div>
      <p class="hint" id="scopes-hint">
        A key that you create can't approve what you, or other keys of yours, requested.
      </p>
      {problem === undefined ? null : (
        <p class="problem" id="scopes-problem">
          {problem}
        </p>
      )}
    </fieldset>
  );
}
