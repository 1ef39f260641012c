import type { FastifyRequest } from 'fastify';
import { ServiceError } from '../../../../shared/platform/errors.ts';
import { setProcessorAccount } from '../../../../shared/processors/accounts/manage-accounts.ts';
import {
  type CredentialField,
  InvalidCredentialsError,
} from '../../../../shared/processors/contract/processor.ts';
import { processorKind, processorNames } from '../../../../shared/processors/registry.ts';
import type { ApiDependencies } from '../../../http/dependencies.ts';
import type { Api } from '../../../http/route.ts';
import { type Context, contextOf } from '../../http/access.ts';
import { entered, type FormProblems, validationProblemsOf } from '../../http/forms.ts';
import { pageNotFound } from '../../http/paths.ts';
import { sendPage } from '../../http/render.ts';
import { CsrfField, Field, FormNotice, inputProps } from '../../layout/form.tsx';
import { SettingsFrame } from './settings-frame.tsx';

const path = '/settings/accounts/:processor';

interface Params {
  processor: string;
}

/** `/settings/accounts/<processor>`: the form for credentials. It never shows stored or submitted secrets. */
export function credentialPages(scope: Api, deps: ApiDependencies): void {
  scope.get<{ Params: Params }>(path, { config: { role: 'admin' } }, async (request, reply) => {
    const page = await readPage(deps, request);
    return sendPage(reply, <Credentials {...page} problems={{}} body={{}} />);
  });

  scope.post<{ Params: Params }>(path, { config: { role: 'admin' } }, async (request, reply) => {
    const page = await readPage(deps, request);
    try {
      await setAccount(deps, page, request.body);
    } catch (error) {
      const names = page.fields.map(({ name }) => name);
      const problems = validationProblemsOf(error, names);
      return sendPage(reply.code(400), <Credentials {...page} problems={problems} body={request.body} />);
    }
    return reply.redirect(`${page.context.base}/settings/accounts?done=set`, 303);
  });
}

/** @throws ServiceError not_found for an unknown processor. */
export function processorInPath({ processor }: { processor: string }): string {
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
async function readPage(
  deps: ApiDependencies,
  request: FastifyRequest<{ Params: Params }>,
): Promise<CredentialsPage> {
  const context = contextOf(request);
  const processor = processorInPath(request.params);
  const where = { organizationId: context.organization.id, environment: context.environment, processor };
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
    await setProcessorAccount(deps, {
      organizationId: context.organization.id,
      environment: context.environment,
      processor,
      credentials: credentialsIn(fields, body),
      actor: context.actor,
    });
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

interface CredentialsProps extends CredentialsPage {
  problems: FormProblems;
  /** The submitted form. */
  body: unknown;
}

function Credentials({ context, processor, isSetUp, fields, problems, body }: CredentialsProps) {
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
        <FormNotice problems={problems} />
        <CsrfField token={context.csrfToken} />
        {fields.map((field) => (
          <CredentialInput
            key={field.name}
            field={field}
            problem={problems[field.name]}
            text={entered(body, field.name)}
          />
        ))}
        <div class="row">
          <button type="submit" class="button" data-kind="primary">
            {isSetUp ? 'Replace credentials' : 'Set up'}
          </button>
          <a class="button" href={accounts}>
            Cancel
          </a>
        </div>
      </form>
    </SettingsFrame>
  );
}

interface CredentialInputProps {
  field: CredentialField;
  problem: string | undefined;
  text: string;
}

/** Shows a submitted value again unless it is a secret. */
function CredentialInput({ field, problem, text }: CredentialInputProps) {
  const { name, label, type, isRequired, hint } = field;
  if (type === 'choice') {
    return (
      <div class="field">
        <label class="row" for={name}>
          <input {...inputProps(name, problem)} type="checkbox" value="yes" checked={text !== ''} />
          {label}
        </label>
        <p class="hint" id={`${name}-hint`}>
          {hint}
        </p>
      </div>
    );
  }
  return (
    <Field name={name} label={isRequired ? label : `${label} (optional)`} hint={hint} problem={problem}>
      {type === 'secret' ? (
        <input
          {...inputProps(name, problem)}
          type="password"
          required={isRequired}
          autocomplete="new-password"
        />
      ) : (
        <input {...inputProps(name, problem)} type="url" required={isRequired} value={text} />
      )}
    </Field>
  );
}
