import type { FastifyRequest } from 'fastify';
import { z } from 'zod';
import type { ApiDependencies } from '#api/http/dependencies.ts';
import type { Api } from '#api/http/route.ts';
import { ServiceError } from '#shared/platform/errors.ts';
import { isId, newId } from '#shared/platform/ids.ts';
import type { AccountName } from '#shared/processors/accounts/account.ts';
import { listProcessorAccounts, OtherAccountError } from '#shared/processors/accounts/manage-accounts.ts';
import { RefusedCredentialsError, setTestedAccount } from '#shared/processors/accounts/set-credentials.ts';
import { InvalidCredentialsError } from '#shared/processors/contract/processor.ts';
import { displayNameOf, processorKind, processorNames } from '#shared/processors/registry.ts';
import { Facts } from '../../components/card.tsx';
import { Fields } from '../../components/fields.tsx';
import { Form, HiddenFields, useSubmitted } from '../../components/form.tsx';
import { actingIn, confirmed, contextOf, useMember } from '../../http/access.ts';
import { entered } from '../../http/forms.ts';
import { leadTo, page, type Redirect } from '../../http/page.ts';
import { accountsPath, pageNotFound } from '../../http/paths.ts';
import { WebhookAddress } from './account.tsx';
import { ownAccountInPath } from './account-in-path.ts';
import { SettingsFrame } from './settings-frame.tsx';

const newPath = `${accountsPath}/new/:processor`;
const replacePath = `${accountsPath}/:accountId/credentials`;

/**
 * `/settings/accounts/new/<processor>` adds an account, `/settings/accounts/<id>/credentials` replaces the credentials of one. Neither form
 * shows stored or submitted secrets.
 */
export function credentialPages(scope: Api, deps: ApiDependencies): void {
  const readNew = async (request: FastifyRequest): Promise<NewAccountProps> => {
    const processor = processorInPath(request);
    const { organizationId, environment } = contextOf(request).owner;
    const accounts = await listProcessorAccounts(deps.db, organizationId, environment);
    const isFirst = !accounts.some((each) => each.processor === processor);
    return { processor, isFirst, schema: schemaFor(deps, processor) };
  };
  const newSchema = (request: FastifyRequest) => schemaFor(deps, processorInPath(request)).extend(newFields);
  page(scope, newPath, 'admin', readNew, NewAccount).form(
    newPath,
    confirmed('admin'),
    newSchema,
    async (request, { accountId, name, ...entries }) => {
      const place = { processor: processorInPath(request), name: `${name}`, newId: `${accountId}` };
      return await store(deps, request, place, entries);
    },
  );

  const readOwn = async (request: FastifyRequest): Promise<CredentialsProps> => {
    const account = await ownAccountInPath(deps, request);
    return { account, schema: schemaFor(deps, account.processor) };
  };
  page(scope, replacePath, 'admin', readOwn, Credentials).form(
    replacePath,
    confirmed('admin'),
    async (request) => (await readOwn(request)).schema,
    async (request, entries) => {
      const { processor, name } = await ownAccountInPath(deps, request);
      return await store(deps, request, { processor, name }, entries);
    },
  );
}

/** @throws ServiceError not_found for an unknown processor. */
function processorInPath({ params }: Pick<FastifyRequest, 'params'>): string {
  const { processor = '' } = params as { processor?: string };
  if (processorNames.includes(processor)) return processor;
  throw pageNotFound();
}

/** What a new account has beside its credentials. */
const newFields = {
  // Known before the account is added, so that its address can be registered at the processor first.
  accountId: z.string().refine((id) => isId('acc', id), 'This form has expired. Open it again.'),
  name: z.string('Is required.').trim().min(1, 'Is required.').meta({
    title: 'Name',
    description: 'Lowercase letters, digits and hyphens, such as shop-eu. It is never changed.',
    maxLength: 40,
  }),
};

/**
 * The form for the credentials of a processor, without addresses unless the settings allow them: the admin of an organization
 * must not be able to make the service send requests to hosts in its network.
 */
function schemaFor({ settings }: Pick<ApiDependencies, 'settings'>, processor: string) {
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
    title: 'Store them anyway',
    description:
      'If the processor refuses them, refunds wait until you replace them. If they belong to another account, refunds in progress are looked up in that one.',
    type: 'boolean',
  });
  return z.object({ ...Object.fromEntries(fields), [storeAnyway]: force } as Record<
    string,
    z.ZodType<string | boolean | undefined>
  >);
}

/** The field that stores credentials although the processor refuses them. */
const storeAnyway = 'storeAnyway';

/** What the page says then, unless the processor accepts them and does not say whose they are. */
const savedAs = {
  works: 'credentials-saved',
  limited: 'credentials-limited',
  unusable: 'credentials-refused',
  unavailable: 'credentials-untested',
} as const;

/** Tests and stores what was entered, and leads to the page of the account, which shows what the credentials may do. */
async function store(
  deps: ApiDependencies,
  request: FastifyRequest,
  place: { processor: string; name: string; newId?: string },
  { [storeAnyway]: force, ...credentials }: Record<string, unknown>,
): Promise<Redirect> {
  const change = { ...actingIn(request), ...place, credentials, force: force === true };
  const { id, test, isIdentified } = await setTestedAccount(deps, change).catch((error) =>
    refuse(error, place.processor),
  );
  const isUnknown = !isIdentified && (test.verdict === 'works' || test.verdict === 'limited');
  return leadTo(`${accountsPath}/${id}`, isUnknown ? 'credentials-unidentified' : savedAs[test.verdict]);
}

/** @throws ServiceError validation_error for invalid and refused credentials and those of another account, any other error again. */
function refuse(error: unknown, processor: string): never {
  if (error instanceof InvalidCredentialsError) {
    throw new ServiceError('validation_error', error.message, { cause: error });
  }
  if (error instanceof OtherAccountError) {
    throw new ServiceError('validation_error', `${storeAnyway}: ${error.message}`, { cause: error });
  }
  if (!(error instanceof RefusedCredentialsError)) throw error;
  const words = error.test.abilities.find(({ state }) => state === 'refused')?.failure?.message ?? '';
  const message = `${storeAnyway}: ${displayNameOf(processor)} rejected these credentials, so nothing was stored. ${words}`;
  throw new ServiceError('validation_error', message, { cause: error });
}

interface NewAccountProps {
  processor: string;
  /** True for the first account at the processor, which is then the default one. */
  isFirst: boolean;
  /** Of the credentials. */
  schema: z.ZodObject;
}

function NewAccount({ processor, isFirst, schema }: NewAccountProps) {
  const to = `${accountsPath}/new/${processor}`;
  const { displayName } = processorKind(processor);
  const id = entered(useSubmitted(to)?.body, 'accountId') || newId('acc');
  return (
    <SettingsFrame page="accounts" title={`Add ${displayName} account`}>
      <Form
        to={to}
        submit="Add account"
        cancel={accountsPath}
        initial={{ name: isFirst ? processor : '' }}
        focus="name"
      >
        <StorageHint />
        <HiddenFields values={{ accountId: id }} />
        <Fields schema={z.object(newFields)} only={['name']} />
        <Facts facts={[['Webhook URL', <WebhookAddress key="webhook" processor={processor} id={id} />]]} />
        <CredentialFields to={to} schema={schema} />
      </Form>
    </SettingsFrame>
  );
}

interface CredentialsProps {
  account: AccountName;
  schema: z.ZodObject;
}

function Credentials({ account: { id, name, processor }, schema }: CredentialsProps) {
  const { displayName } = processorKind(processor);
  const to = `${accountsPath}/${id}/credentials`;
  return (
    <SettingsFrame page="accounts" title={`Replace credentials of ${name}`}>
      <Form
        to={to}
        submit="Replace credentials"
        cancel={`${accountsPath}/${id}`}
        focus={Object.keys(schema.shape)[0] ?? ''}
      >
        <p class="muted">
          Use credentials of the same {displayName} account, because refunds in progress are looked up with
          them.
        </p>
        <StorageHint />
        <CredentialFields to={to} schema={schema} />
      </Form>
    </SettingsFrame>
  );
}

function StorageHint() {
  const { environment } = useMember();
  return (
    <p class="muted">
      Credentials of the <strong>{environment}</strong> environment are tested, stored encrypted and never
      shown again.
    </p>
  );
}

function CredentialFields({ to, schema }: { to: string; schema: z.ZodObject }) {
  // Only a person who has read that they were refused may store them.
  const isRefused = useSubmitted(to)?.problems[storeAnyway] !== undefined;
  return (
    <>
      {Object.keys(schema.shape)
        .filter((name) => name !== storeAnyway || isRefused)
        .map((name) => (
          <Fields key={name} schema={schema} only={[name]} />
        ))}
    </>
  );
}
