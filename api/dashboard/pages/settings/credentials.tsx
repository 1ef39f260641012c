import type { FastifyRequest } from 'fastify';
import { z } from 'zod';
import type { ApiDependencies } from '#api/http/dependencies.ts';
import type { Api } from '#api/http/route.ts';
import { ServiceError } from '#shared/platform/errors.ts';
import { accountAt } from '#shared/processors/accounts/account.ts';
import { RefusedCredentialsError, setTestedAccount } from '#shared/processors/accounts/set-credentials.ts';
import { InvalidCredentialsError } from '#shared/processors/contract/processor.ts';
import { displayNameOf, processorKind, processorNames } from '#shared/processors/registry.ts';
import { Fields } from '../../components/fields.tsx';
import { Form, useSubmitted } from '../../components/form.tsx';
import { actingIn, confirmed, contextOf, useMember } from '../../http/access.ts';
import { leadTo, page } from '../../http/page.ts';
import { pageNotFound } from '../../http/paths.ts';
import { SettingsFrame } from './settings-frame.tsx';

const accounts = '/settings/accounts';
const path = `${accounts}/:processor`;

/** `/settings/accounts/<processor>`: the form for credentials. It never shows stored or submitted secrets. */
export function credentialPages(scope: Api, deps: ApiDependencies): void {
  const schemaOf = (request: FastifyRequest) => schemaFor(deps, processorInPath(request));
  const read = async (request: FastifyRequest) => {
    const processor = processorInPath(request);
    const where = accountAt({ ...contextOf(request).owner, processor });
    const isSetUp = (await deps.db.processorAccount.count({ where })) > 0;
    return { processor, isSetUp, schema: schemaOf(request) };
  };
  const credentials = page(scope, path, 'admin', read, Credentials);
  credentials.form(
    path,
    confirmed('admin'),
    schemaOf,
    async (request, { [storeAnyway]: force, ...entries }) => {
      const processor = processorInPath(request);
      const change = { ...actingIn(request), processor, credentials: entries, force: force === true };
      const { test } = await setTestedAccount(deps, change).catch((error) => refuse(error, processor));
      return leadTo(accounts, savedAs[test.verdict]);
    },
  );
}

/** @throws ServiceError not_found for an unknown processor. */
export function processorInPath({ params }: Pick<FastifyRequest, 'params'>): string {
  const { processor = '' } = params as { processor?: string };
  if (processorNames.includes(processor)) return processor;
  throw pageNotFound();
}

/**
 * The form for the credentials of a processor, without addresses unless the settings allow them: the admin of an organization
 * must not be able to make the service send requests to hosts in its network.
 */
function schemaFor({ settings }: ApiDependencies, processor: string) {
  const { credentialFields } = processorKind(processor);
  const offered = credentialFields.filter(
    ({ type }) => type !== 'address' || settings.DASHBOARD_SETS_ADDRESSES,
  );
  const fields = offered.map(({ name, label: title, type, isRequired, hint: description }) => {
    if (type === 'choice') {
      return [name, z.stringbool().optional().meta({ title, description, type: 'boolean' })];
    }
    const format = type === 'address' ? 'uri' : 'password';
    if (!isRequired) {
      const text = z.string().trim().optional();
      const given = text.transform((entered) => entered || undefined);
      return [name, given.meta({ title: `${title} (optional)`, description, format })];
    }
    const text = z.string('Is required.').trim().min(1, 'Is required.');
    return [name, text.meta({ title, description, format })];
  });
  const force = z.stringbool().optional().meta({
    title: 'Store them even if they are refused',
    description: 'Refunds then wait until the processor accepts the credentials.',
    type: 'boolean',
  });
  return z.object({ ...Object.fromEntries(fields), [storeAnyway]: force } as Record<
    string,
    z.ZodType<string | boolean | undefined>
  >);
}

/** The field that stores credentials although the processor refuses them. */
const storeAnyway = 'storeAnyway';

/** What the page says then. */
const savedAs = {
  works: 'credentials-saved',
  limited: 'credentials-limited',
  unusable: 'credentials-refused',
  unavailable: 'credentials-untested',
} as const;

/** @throws ServiceError validation_error for invalid and refused credentials, any other error again. */
function refuse(error: unknown, processor: string): never {
  if (error instanceof InvalidCredentialsError) {
    throw new ServiceError('validation_error', error.message, { cause: error });
  }
  if (!(error instanceof RefusedCredentialsError)) throw error;
  const words = error.test.abilities.find(({ state }) => state === 'refused')?.failure?.message ?? '';
  const message = `${storeAnyway}: ${displayNameOf(processor)} rejected these credentials, so nothing was stored. ${words}`;
  throw new ServiceError('validation_error', message, { cause: error });
}

interface CredentialsProps {
  processor: string;
  /** Whether the form replaces existing credentials. */
  isSetUp: boolean;
  schema: z.ZodObject;
}

function Credentials({ processor, isSetUp, schema }: CredentialsProps) {
  const { environment } = useMember();
  const { displayName } = processorKind(processor);
  // Only a person who has read that they were refused may store them.
  const to = `${accounts}/${processor}`;
  const isRefused = useSubmitted(to)?.problems[storeAnyway] !== undefined;
  const title = isSetUp ? `Replace ${displayName} credentials` : `Set up ${displayName}`;
  const submit = isSetUp ? 'Replace credentials' : 'Set up';
  return (
    <SettingsFrame page="accounts" title={title}>
      <Form to={to} submit={submit} cancel={accounts} focus={Object.keys(schema.shape)[0] ?? ''}>
        <p class="muted">
          {isSetUp
            ? `Use credentials of the same ${displayName} account, because refunds in progress are looked up with them. `
            : null}
          Credentials of the <strong>{environment}</strong> environment are stored encrypted and never shown
          again.
        </p>
        {Object.keys(schema.shape)
          .filter((name) => name !== storeAnyway || isRefused)
          .map((name) => (
            <Fields key={name} schema={schema} only={[name]} />
          ))}
      </Form>
    </SettingsFrame>
  );
}
