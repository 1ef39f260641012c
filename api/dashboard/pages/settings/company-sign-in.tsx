import type { FastifyReply } from 'fastify';
import { z } from 'zod';
import type { ApiDependencies } from '#api/http/dependencies.ts';
import type { Api } from '#api/http/route.ts';
import { testProvider } from '#shared/people/company-sign-in/authorization.ts';
import {
  disableProvider,
  enforceProvider,
  findProvider,
  setProvider,
} from '#shared/people/company-sign-in/provider.ts';
import { roles } from '#shared/people/roles.ts';
import type { IdentityProvider } from '#shared/platform/database.ts';
import { ServiceError } from '#shared/platform/errors.ts';
import { Card, Facts } from '../../components/card.tsx';
import { Confirm } from '../../components/dialog.tsx';
import { Fields } from '../../components/fields.tsx';
import { emptyForm, Form, FormNotice, type FormState } from '../../components/form.tsx';
import { Copyable, Moment } from '../../components/values.tsx';
import { type Context, contextOf } from '../../http/access.ts';
import { entered, type FormProblems, readForm, validationProblemsOf } from '../../http/forms.ts';
import { companySignInCallback, companySignInPath, originOf } from '../../http/paths.ts';
import { sendPage } from '../../http/render.ts';
import { doneAt } from '../../layout/done.tsx';
import { SettingsFrame } from './settings-frame.tsx';

const path = '/settings/company-sign-in';
const text = z.string().trim().min(1, 'Required.').max(400);
const valuesOf = (title: string) =>
  z
    .string()
    .trim()
    .max(2_000)
    .optional()
    .meta({ title, description: 'Values of the claim, separated by commas.' });
const formSchema = z.object({
  issuer: text.meta({ title: 'Issuer', description: 'Such as https://login.example.com', format: 'uri' }),
  clientId: text.meta({ title: 'Client ID' }),
  clientSecret: text.meta({
    title: 'Client secret',
    description: 'It is not shown again.',
    format: 'password',
  }),
  roleClaim: text.meta({ title: 'Claim for roles', description: 'Of the ID token, such as groups.' }),
  owner: valuesOf('Owners'),
  admin: valuesOf('Admins'),
  operator: valuesOf('Operators'),
  viewer: valuesOf('Viewers'),
});
const fields = Object.keys(formSchema.shape);

/** `/settings/company-sign-in`: the company's provider. Owners only, because it makes owners. */
export function companySignInSettings(scope: Api, deps: ApiDependencies): void {
  const show = async (
    reply: FastifyReply,
    context: Context,
    origin: string,
    form?: FormState,
    problems = {},
  ) => {
    const provider = await findProvider(deps.db, context.organization.id);
    return sendPage(reply, <SignInSettings {...{ context, provider, origin, form, problems }} />);
  };
  scope.get(path, { config: { role: 'owner' } }, async (request, reply) =>
    show(reply, contextOf(request), originOf(request)),
  );

  scope.post(path, { config: { role: 'owner', confirm: true } }, async (request, reply) => {
    const context = contextOf(request);
    const { body } = request;
    const refuse = (problems: FormProblems) =>
      show(reply.code(400), context, originOf(request), { body, problems });
    const form = readForm(formSchema, body);
    if (form.kind === 'invalid') return await refuse(form.problems);
    const { issuer, clientId, clientSecret, roleClaim } = form.value;
    const settings = { issuer, clientId, clientSecret, roleClaim, roles: rolesIn(form.value) };
    try {
      await setProvider(deps, { organizationId: context.organization.id, actor: context.actor, settings });
    } catch (error) {
      return await refuse(validationProblemsOf(error, fields));
    }
    return reply.redirect(doneAt(`${context.base}${path}`, 'sign-in-saved'), 303);
  });

  scope.post(`${path}/test`, { config: { role: 'owner' } }, async (request, reply) => {
    const context = contextOf(request);
    const provider = await findProvider(deps.db, context.organization.id);
    try {
      if (provider !== null) await testProvider(deps, provider);
    } catch (error) {
      if (!(error instanceof ServiceError)) throw error;
      const message = 'The issuer does not answer with an OpenID Connect configuration. Check its address.';
      return await show(reply.code(400), context, originOf(request), undefined, { form: message });
    }
    return reply.redirect(doneAt(`${context.base}${path}`, 'connection-works'), 303);
  });

  scope.post(`${path}/rule`, { config: { role: 'owner', confirm: true } }, async (request, reply) => {
    const context = contextOf(request);
    const change = { organizationId: context.organization.id, actor: context.actor };
    const rule = entered(request.body, 'rule');
    try {
      if (rule === 'disabled') await disableProvider(deps, change);
      else await enforceProvider(deps, { ...change, isEnforced: rule === 'required' });
    } catch (error) {
      const problems = validationProblemsOf(error, []);
      return await show(reply.code(400), context, originOf(request), undefined, problems);
    }
    return reply.redirect(doneAt(`${context.base}${path}`, 'sign-in-saved'), 303);
  });
}

function rolesIn(form: z.infer<typeof formSchema>): Record<string, string> {
  const entries = roles.flatMap((role) =>
    (form[role] ?? '')
      .split(',')
      .map((value) => value.trim())
      .filter((value) => value !== '')
      .map((value): [string, string] => [value, role]),
  );
  // A value that is given twice counts for the highest role.
  return Object.fromEntries(entries.toReversed());
}

interface SettingsProps {
  context: Context;
  provider: IdentityProvider | null;
  /** The address of the service. */
  origin: string;
  form?: FormState | undefined;
  problems: FormProblems;
}

function SignInSettings({ context, provider, origin, form, problems }: SettingsProps) {
  const initial = provider === null ? emptyForm : { body: entriesOf(provider), problems: {} };
  return (
    <SettingsFrame context={context} page="company-sign-in">
      <FormNotice problems={problems} />
      {provider === null ? (
        <p>Members sign in with their passwords. Enter your OpenID Connect provider to use its accounts.</p>
      ) : (
        <CurrentProvider {...{ context, provider, origin }} />
      )}
      <Form
        csrfToken={context.csrfToken}
        to={`${context.base}${path}`}
        title="Provider"
        submit="Save"
        form={form}
      >
        <p>
          Register this redirect URI:{' '}
          <Copyable text={new URL(companySignInCallback, origin).href} label="redirect URI" />
        </p>
        <Fields schema={formSchema} form={form ?? initial} />
      </Form>
    </SettingsFrame>
  );
}

function entriesOf({ issuer, clientId, roleClaim, roles: map }: IdentityProvider): Record<string, string> {
  const entered = Object.entries(map as Record<string, string>);
  const valuesFor = (wanted: string) => entered.filter(([, role]) => role === wanted).map(([value]) => value);
  return {
    ...{ issuer, clientId, roleClaim },
    ...Object.fromEntries(roles.map((role) => [role, valuesFor(role).join(', ')])),
  };
}

function CurrentProvider({
  context,
  provider,
  origin,
}: Omit<SettingsProps, 'provider' | 'form' | 'problems'> & { provider: IdentityProvider }) {
  const { organizationId, isEnforced, ownerSignedInAt } = provider;
  const link = new URL(`${companySignInPath}/${organizationId}`, origin).href;
  return (
    <Card id="company-sign-in" title="Company sign-in">
      <p>
        {isEnforced
          ? 'Members other than owners must sign in with the provider.'
          : 'Members can sign in with the provider or with their passwords.'}
      </p>
      <Facts
        facts={[
          ['Sign-in link', <Copyable key="link" text={link} label="sign-in link" />],
          [
            'Owner signed in',
            ownerSignedInAt === null ? 'Not yet' : <Moment key="at" at={ownerSignedInAt} />,
          ],
        ]}
      />
      <div class="row">
        <form method="post" action={`${context.base}${path}/test`}>
          <input type="hidden" name="_csrf" value={context.csrfToken} />
          <button type="submit" class="button outline">
            Test connection
          </button>
        </form>
        {ownerSignedInAt === null ? null : <RuleButton context={context} isEnforced={isEnforced} />}
        <Confirm
          id="disable"
          action="Disable"
          title="Disable company sign-in?"
          kind="danger"
          context={context}
          to={`${path}/rule`}
        >
          <p>Members then need a password. An operator of this service can set one.</p>
          <input type="hidden" name="rule" value="disabled" />
        </Confirm>
      </div>
      {ownerSignedInAt === null ? (
        <p class="small muted">To require it, first sign in as an owner with the sign-in link.</p>
      ) : null}
    </Card>
  );
}

function RuleButton({ context, isEnforced }: { context: Context; isEnforced: boolean }) {
  return (
    <Confirm
      id="rule"
      action={isEnforced ? 'Stop requiring' : 'Require'}
      title={isEnforced ? 'Stop requiring company sign-in?' : 'Require company sign-in?'}
      kind="primary"
      context={context}
      to={`${path}/rule`}
    >
      <p>
        {isEnforced
          ? 'Members can then use their passwords again.'
          : 'Members other than owners can then open this organization only after signing in with the provider.'}
      </p>
      <input type="hidden" name="rule" value={isEnforced ? 'optional' : 'required'} />
    </Confirm>
  );
}
