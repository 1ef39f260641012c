import type { FastifyReply, FastifyRequest } from 'fastify';
import { z } from 'zod';
import type { ApiDependencies } from '#api/http/dependencies.ts';
import type { Api } from '#api/http/route.ts';
import { ServiceError } from '#shared/platform/errors.ts';
import { RefusedCredentialsError, setTestedAccount } from '#shared/processors/accounts/set-credentials.ts';
import { InvalidCredentialsError } from '#shared/processors/contract/processor.ts';
import { displayNameOf, processorKind, processorNames } from '#shared/processors/registry.ts';
import { Fields } from '../../components/fields.tsx';
import { emptyForm, Form } from '../../components/form.tsx';
import { actingIn, contextOf, needs, useMember } from '../../http/access.ts';
import { answerForm, type FormSchema, type FormState } from '../../http/forms.ts';
import { pageNotFound } from '../../http/paths.ts';
import { leadTo } from '../../layout/done.tsx';
import { SettingsFrame } from './settings-frame.tsx';

const accounts = '/settings/accounts';
const path = `${accounts}/:processor`;

/** `/settings/accounts/<processor>`: the form for credentials. It never shows stored or submitted secrets. */
export function credentialPages(scope: Api, deps: ApiDependencies): void {
  const show = async (reply: FastifyReply, form: FormState) => {
    const processor = processorInPath(reply.request);
    const where = { ...contextOf(reply.request).owner, processor };
    const isSetUp = (await deps.db.processorAccount.count({ where })) > 0;
    const schema = schemaFor(deps, processor);
    return reply.send(<Credentials {...{ processor, isSetUp, schema, form }} />);
  };

  scope.get(path, needs('admin'), (_request, reply) => show(reply, emptyForm));

  scope.post(path, needs('admin', 'confirmed'), async (request, reply) => {
    const processor = processorInPath(request);
    return await answerForm(reply, {
      schema: schemaFor(deps, processor),
      again: (form) => show(reply, form),
      run: async ({ [storeAnyway]: force, ...credentials }) => {
        const change = { ...actingIn(request), processor, credentials, force: force === true };
        const { test } = await setTestedAccount(deps, change).catch((error) => refuse(error, processor));
        return leadTo(reply, accounts, savedAs[test.verdict]);
      },
    });
  });
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
  schema: FormSchema<unknown>;
  form: FormState;
}

function Credentials({ processor, isSetUp, schema, form }: CredentialsProps) {
  const { environment } = useMember();
  const { displayName } = processorKind(processor);
  // Only a person who has read that they were refused may store them.
  const isRefused = form.problems[storeAnyway] !== undefined;
  const title = isSetUp ? `Replace ${displayName} credentials` : `Set up ${displayName}`;
  const submit = isSetUp ? 'Replace credentials' : 'Set up';
  return (
    <SettingsFrame page="accounts" title={title}>
      <Form to={`${accounts}/${processor}`} submit={submit} form={form} cancel={accounts}>
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
            <Fields key={name} schema={schema} form={form} only={[name]} />
          ))}
      </Form>
    </SettingsFrame>
  );
}
