import type { FastifyRequest } from 'fastify';
import type { ApiDependencies } from '#api/http/dependencies.ts';
import type { Api } from '#api/http/route.ts';
import { ServiceError } from '#shared/platform/errors.ts';
import { setProcessorAccount } from '#shared/processors/accounts/manage-accounts.ts';
import { type CredentialField, InvalidCredentialsError } from '#shared/processors/contract/processor.ts';
import { processorKind, processorNames } from '#shared/processors/registry.ts';
import { ButtonLink, Submit } from '../../components/button.tsx';
import { CsrfField, emptyForm, FormNotice, inputProps, TextField } from '../../components/form.tsx';
import { contextOf, needs, useMember } from '../../http/access.ts';
import { entered, type FormState, validationProblemsOf } from '../../http/forms.ts';
import { pageNotFound } from '../../http/paths.ts';
import { sendPage } from '../../http/render.ts';
import { leadTo } from '../../layout/done.tsx';
import { SettingsFrame } from './settings-frame.tsx';

const accounts = '/settings/accounts';
const path = `${accounts}/:processor`;

/** `/settings/accounts/<processor>`: the form for credentials. It never shows stored or submitted secrets. */
export function credentialPages(scope: Api, deps: ApiDependencies): void {
  /** @throws ServiceError not_found for an unknown processor. */
  const readPage = async (request: FastifyRequest): Promise<CredentialsPage> => {
    const processor = processorInPath(request);
    const where = { ...contextOf(request).owner, processor };
    const isSetUp = (await deps.db.processorAccount.count({ where })) > 0;
    return { processor, isSetUp, fields: fieldsFor(deps, processor) };
  };

  scope.get(path, needs('admin'), async (request, reply) =>
    sendPage(reply, <Credentials {...(await readPage(request))} form={emptyForm} />),
  );

  scope.post(path, needs('admin', 'confirmed'), async (request, reply) => {
    const page = await readPage(request);
    const { processor, fields } = page;
    const { owner, actor } = contextOf(request);
    const { body } = request;
    try {
      const credentials = credentialsIn(fields, body);
      await setProcessorAccount(deps, { ...owner, processor, credentials, actor }).catch(refuseInvalid);
    } catch (error) {
      const problems = validationProblemsOf(
        error,
        fields.map(({ name }) => name),
      );
      return sendPage(reply.code(400), <Credentials {...page} form={{ body, problems }} />);
    }
    return leadTo(reply, accounts, 'credentials-saved');
  });
}

/** @throws ServiceError not_found for an unknown processor. */
export function processorInPath({ params }: Pick<FastifyRequest, 'params'>): string {
  const { processor = '' } = params as { processor?: string };
  if (processorNames.includes(processor)) return processor;
  throw pageNotFound();
}

interface CredentialsPage {
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

/** @throws ServiceError validation_error for invalid credentials, any other error again. */
function refuseInvalid(error: unknown): never {
  if (!(error instanceof InvalidCredentialsError)) throw error;
  throw new ServiceError('validation_error', error.message, { cause: error });
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

function Credentials({ processor, isSetUp, fields, form }: CredentialsPage & { form: FormState }) {
  const { environment, base } = useMember();
  const { displayName } = processorKind(processor);
  const title = isSetUp ? `Replace ${displayName} credentials` : `Set up ${displayName}`;
  return (
    <SettingsFrame page="accounts" title={title}>
      <form method="post" action={`${base}${accounts}/${processor}`} class="card stack" autocomplete="off">
        <p class="muted">
          {isSetUp
            ? `Use credentials of the same ${displayName} account, because refunds in progress are looked up with them. `
            : null}
          Credentials of the <strong>{environment}</strong> environment are stored encrypted and never shown
          again.
        </p>
        <FormNotice problems={form.problems} />
        <CsrfField />
        {fields.map((field) => (
          <CredentialInput key={field.name} field={field} form={form} />
        ))}
        <div class="row">
          <Submit kind="primary">{isSetUp ? 'Replace credentials' : 'Set up'}</Submit>
          <ButtonLink to={`${base}${accounts}`}>Cancel</ButtonLink>
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
  if (type === 'address') return <TextField {...named} type="url" />;
  return <TextField {...named} type="password" autocomplete="new-password" />;
}
