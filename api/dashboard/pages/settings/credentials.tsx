import type { FastifyRequest } from 'fastify';
import type { ApiDependencies } from '#api/http/dependencies.ts';
import type { Api } from '#api/http/route.ts';
import { ServiceError } from '#shared/platform/errors.ts';
import { setProcessorAccount } from '#shared/processors/accounts/manage-accounts.ts';
import { type CredentialField, InvalidCredentialsError } from '#shared/processors/contract/processor.ts';
import { processorKind, processorNames } from '#shared/processors/registry.ts';
import { ButtonLink, Submit } from '../../components/button.tsx';
import {
  CsrfField,
  emptyForm,
  FormNotice,
  type FormState,
  inputProps,
  TextField,
} from '../../components/form.tsx';
import { type Context, contextOf } from '../../http/access.ts';
import { entered, validationProblemsOf } from '../../http/forms.ts';
import { pageNotFound } from '../../http/paths.ts';
import { sendPage } from '../../http/render.ts';
import { doneAt } from '../../layout/done.tsx';
import { SettingsFrame } from './settings-frame.tsx';

const path = '/settings/accounts/:processor';

/** `/settings/accounts/<processor>`: the form for credentials. It never shows stored or submitted secrets. */
export function credentialPages(scope: Api, deps: ApiDependencies): void {
  scope.get(path, { config: { role: 'admin' } }, async (request, reply) => {
    const page = await readPage(deps, request);
    return sendPage(reply, <Credentials {...page} form={emptyForm} />);
  });

  scope.post(path, { config: { role: 'admin', confirm: true } }, async (request, reply) => {
    const page = await readPage(deps, request);
    try {
      await setAccount(deps, page, request.body);
    } catch (error) {
      const names = page.fields.map(({ name }) => name);
      const form = { body: request.body, problems: validationProblemsOf(error, names) };
      return sendPage(reply.code(400), <Credentials {...page} form={form} />);
    }
    return reply.redirect(doneAt(`${page.context.base}/settings/accounts`, 'credentials-saved'), 303);
  });
}

/** @throws ServiceError not_found for an unknown processor. */
export function processorInPath({ params }: Pick<FastifyRequest, 'params'>): string {
  const { processor = '' } = params as { processor?: string };
  if (processorNames.includes(processor)) return processor;
  throw pageNotFound();
}

interface CredentialsPage {
  context: Context;
  processor: string;
  /** Whether the form replaces existing credentials. */
  isSetUp: boolean;
  fields: readonly CredentialField[];
}

/**
 * Leaves out addresses unless the settings allow them: the admin of an organization must not be able to make the service
 * send requests to hosts in its network.
 */
function fieldsFor({ settings }: ApiDependencies, processor: string): CredentialField[] {
  const { credentialFields } = processorKind(processor);
  return credentialFields.filter(({ type }) => type !== 'address' || settings.DASHBOARD_SETS_ADDRESSES);
}

/** @throws ServiceError not_found for an unknown processor. */
async function readPage(deps: ApiDependencies, request: FastifyRequest): Promise<CredentialsPage> {
  const context = contextOf(request);
  const processor = processorInPath(request);
  const where = { ...context.owner, processor };
  const isSetUp = (await deps.db.processorAccount.count({ where })) > 0;
  return { context, processor, isSetUp, fields: fieldsFor(deps, processor) };
}

/** @throws ServiceError validation_error for invalid credentials. */
async function setAccount(
  deps: ApiDependencies,
  { context, processor, fields }: CredentialsPage,
  body: unknown,
): Promise<void> {
  try {
    const credentials = credentialsIn(fields, body);
    await setProcessorAccount(deps, { ...context.owner, processor, credentials, actor: context.actor });
  } catch (error) {
    if (!(error instanceof InvalidCredentialsError)) throw error;
    throw new ServiceError('validation_error', error.message, { cause: error });
  }
}

/** The submitted credentials, trimmed, without empty fields. */
function credentialsIn(fields: readonly CredentialField[], body: unknown): Record<string, string | boolean> {
  const given = fields.flatMap(({ name, type }): [string, string | boolean][] => {
    const text = entered(body, name).trim();
    if (text === '') return [];
    return [[name, type === 'choice' ? true : text]];
  });
  return Object.fromEntries(given);
}

function Credentials({ context, processor, isSetUp, fields, form }: CredentialsPage & { form: FormState }) {
  const { displayName } = processorKind(processor);
  const accounts = `${context.base}/settings/accounts`;
  const title = isSetUp ? `Replace ${displayName} credentials` : `Set up ${displayName}`;
  return (
    <SettingsFrame context={context} page="accounts" title={title}>
      <form method="post" action={`${accounts}/${processor}`} class="card stack" autocomplete="off">
        <p class="muted">
          {isSetUp
            ? `Use credentials of the same ${displayName} account, because refunds in progress are looked up with them. `
            : null}
          Credentials of the <strong>{context.environment}</strong> environment are stored encrypted and never
          shown again.
        </p>
        <FormNotice problems={form.problems} />
        <CsrfField token={context.csrfToken} />
        {fields.map((field) => (
          <CredentialInput key={field.name} field={field} form={form} />
        ))}
        <div class="row">
          <Submit kind="primary">{isSetUp ? 'Replace credentials' : 'Set up'}</Submit>
          <ButtonLink to={accounts}>Cancel</ButtonLink>
        </div>
      </form>
    </SettingsFrame>
  );
}

function CredentialInput({ field, form }: { field: CredentialField; form: FormState }) {
  const { name, label, type, isRequired, hint } = field;
  if (type === 'choice') {
    return (
      <div class="field">
        <label class="row" for={name}>
          <input
            {...inputProps(name)}
            type="checkbox"
            value="yes"
            checked={entered(form.body, name) !== ''}
          />
          {label}
        </label>
        <p class="hint" id={`${name}-hint`}>
          {hint}
        </p>
      </div>
    );
  }
  const named = { form, name, label: isRequired ? label : `${label} (optional)`, hint, required: isRequired };
  return type === 'secret' ? (
    <TextField {...named} type="password" autocomplete="new-password" />
  ) : (
    <TextField {...named} type="url" />
  );
}
