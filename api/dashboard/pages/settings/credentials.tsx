import type { FastifyRequest } from 'fastify';
import { ServiceError } from '../../../../shared/platform/errors.ts';
import { setProcessorAccount } from '../../../../shared/processors/accounts/manage-accounts.ts';
import {
  type CredentialField,
  InvalidCredentialsError,
} from '../../../../shared/processors/contract/processor.ts';
import { processorKind } from '../../../../shared/processors/registry.ts';
import type { ApiDependencies } from '../../../http/dependencies.ts';
import type { Api } from '../../../http/route.ts';
import { type Context, contextOf } from '../../http/access.ts';
import { entered, type FormProblems } from '../../http/forms.ts';
import { sendPage } from '../../http/render.ts';
import { CsrfField, Field, FormNotice, inputProps } from '../../layout/form.tsx';
import { mendableProblems } from './mendable-problems.ts';
import { processorInPath } from './processor-in-path.ts';
import { SettingsFrame } from './settings-frame.tsx';

const path = '/settings/accounts/:processor';

interface Params {
  processor: string;
}

/** `/settings/accounts/<processor>`: takes credentials, and never gives any back, whether stored or just entered. */
export function credentialPages(room: Api, deps: ApiDependencies): void {
  room.get<{ Params: Params }>(path, { config: { role: 'admin' } }, async (request, reply) => {
    const page = await readPage(deps, request);
    return sendPage(reply, <Credentials {...page} problems={{}} body={{}} />);
  });

  room.post<{ Params: Params }>(path, { config: { role: 'admin' } }, async (request, reply) => {
    const page = await readPage(deps, request);
    const { context, processor, fields } = page;
    try {
      await refusingInvalidCredentials(() =>
        setProcessorAccount(deps, {
          organizationId: context.organization.id,
          environment: context.environment,
          processor,
          credentials: credentialsIn(fields, request.body),
          actor: context.actor,
        }),
      );
    } catch (error) {
      const problems = mendableProblems(
        error,
        fields.map(({ name }) => name),
      );
      return sendPage(reply.code(400), <Credentials {...page} problems={problems} body={request.body} />);
    }
    return reply.redirect(`${context.base}/settings/accounts?done=set`, 303);
  });
}

interface CredentialsPage {
  context: Context;
  processor: string;
  /** True when there is an account, whose credentials are replaced. */
  isSetUp: boolean;
  /** What the form asks for. */
  fields: readonly CredentialField[];
}

/**
 * Where the service sends requests is for those who run it, on the command line, unless they say otherwise: somebody who is
 * admin of one organization must not have it ask whatever else it can reach.
 */
function fieldsFor({ settings }: ApiDependencies, processor: string): CredentialField[] {
  const { credentialFields } = processorKind(processor);
  return credentialFields.filter(({ type }) => type !== 'address' || settings.DASHBOARD_SETS_ADDRESSES);
}

/** @throws ServiceError not_found for a processor that there is none of. */
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

/** What was entered, without the fields that were left empty, and without blanks that a copy has brought along. */
function credentialsIn(fields: readonly CredentialField[], body: unknown): Record<string, string | boolean> {
  const given = fields.flatMap(({ name, type }): [string, string | boolean][] => {
    const text = entered(body, name).trim();
    if (text === '') return [];
    return [[name, type === 'choice' ? true : text]];
  });
  return Object.fromEntries(given);
}

async function refusingInvalidCredentials(store: () => Promise<unknown>): Promise<void> {
  try {
    await store();
  } catch (error) {
    if (!(error instanceof InvalidCredentialsError)) throw error;
    throw new ServiceError('validation_error', error.message, { cause: error });
  }
}

interface CredentialsProps extends CredentialsPage {
  problems: FormProblems;
  /** The form as it was sent. */
  body: unknown;
}

function Credentials({ context, processor, isSetUp, fields, problems, body }: CredentialsProps) {
  const { displayName } = processorKind(processor);
  const accounts = `${context.base}/settings/accounts`;
  const title = isSetUp ? `Replace the credentials of ${displayName}` : `Set up ${displayName}`;
  return (
    <SettingsFrame context={context} page="accounts" title={title}>
      <form method="post" action={`${accounts}/${processor}`} class="card stack" autocomplete="off">
        <Explanation context={context} displayName={displayName} isSetUp={isSetUp} />
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
            {isSetUp ? 'Replace the credentials' : 'Set up'}
          </button>
          <a class="button" href={accounts}>
            Not now
          </a>
        </div>
      </form>
    </SettingsFrame>
  );
}

function Explanation({
  context,
  displayName,
  isSetUp,
}: {
  context: Context;
  displayName: string;
  isSetUp: boolean;
}) {
  return (
    <p class="muted">
      Enter the credentials of the <strong>{context.environment}</strong> environment. They are stored
      encrypted and never shown again.
      {isSetUp
        ? ` They replace the stored ones as a whole and at once, and have to be of the same account at ${displayName}: refunds under way are looked up with them.`
        : null}
    </p>
  );
}

interface CredentialInputProps {
  field: CredentialField;
  problem: string | undefined;
  text: string;
}

/** What is no secret is shown again as it was entered. */
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
