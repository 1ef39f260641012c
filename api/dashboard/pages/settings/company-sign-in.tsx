import type { FastifyRequest } from 'fastify';
import { z } from 'zod';
import { admit, openPlaces } from '#api/http/admission.ts';
import type { ApiDependencies } from '#api/http/dependencies.ts';
import type { Api } from '#api/http/route.ts';
import { roles } from '#shared/access/roles.ts';
import { testProvider } from '#shared/people/company-sign-in/authorization.ts';
import {
  defaultScopes,
  disableProvider,
  enforceProvider,
  findProvider,
  setProvider,
} from '#shared/people/company-sign-in/provider.ts';
import { SignInRefusal } from '#shared/people/company-sign-in/refusal.ts';
import type { IdentityProvider, Role } from '#shared/platform/database.ts';
import { Card, Facts } from '../../components/card.tsx';
import { Confirm } from '../../components/dialog.tsx';
import { Form, Post } from '../../components/form.tsx';
import { Copyable, Moment } from '../../components/values.tsx';
import { actingIn, confirmed, contextOf } from '../../http/access.ts';
import { page } from '../../http/page.ts';
import { companySignInCallback, companySignInPath, originOf } from '../../http/paths.ts';
import { SettingsFrame } from './settings-frame.tsx';

const path = '/settings/company-sign-in';
/** Tests of providers at once. One that does not answer holds no place of other pages. */
const mostTests = 4;
const text = z.string().trim().min(1, 'Required.').max(400);
const valuesOf = (title: string) =>
  z
    .string()
    .trim()
    .max(2_000)
    .optional()
    .meta({ title, description: 'Values of the claim, separated by commas.' });
const schema = z.object({
  issuer: text.meta({ title: 'Issuer', description: 'Such as https://login.example.com', format: 'uri' }),
  clientId: text.meta({ title: 'Client ID' }),
  clientSecret: text.meta({
    title: 'Client secret',
    description: "It won't be shown again.",
    format: 'password',
  }),
  scopes: text.meta({
    title: 'Scopes',
    description: 'With spaces between, such as openid email profile groups.',
  }),
  roleClaim: text.meta({
    title: 'Claim for roles',
    description: 'Such as groups, or a path such as realm_access.roles.',
  }),
  owner: valuesOf('Owners'),
  admin: valuesOf('Admins'),
  operator: valuesOf('Operators'),
  viewer: valuesOf('Viewers'),
  acceptsUnverified: z.stringbool().optional().meta({
    type: 'boolean',
    title: 'Accept email addresses that the provider does not call verified',
    description:
      'Only for a provider whose accounts your company alone creates, such as a tenant of Entra ID.',
  }),
});
const ruleSchema = z.object({ rule: z.string().optional() });

/** `/settings/company-sign-in`: the company's provider. Owners only, because it makes owners. */
export async function companySignInSettings(scope: Api, deps: ApiDependencies): Promise<void> {
  const find = (request: FastifyRequest) => findProvider(deps.db, contextOf(request).organization.id);
  const read = async (request: FastifyRequest) => {
    const [provider, origin] = [await find(request), originOf(request)];
    return { provider, origin, redirectUri: redirectUriFor(request) };
  };
  const settings = page(scope, path, 'owner', read, SignInSettings);

  settings.form(path, confirmed('owner'), schema, async (request, entries) => {
    const { owner, admin, operator, viewer, ...provider } = entries;
    const mapped = { ...provider, roles: rolesIn({ owner, admin, operator, viewer }) };
    await setProvider(deps, { ...actingIn(request), settings: mapped });
    return 'sign-in-saved';
  });

  settings.form(
    `${path}/rule`,
    confirmed('owner'),
    ruleSchema,
    async (request, { rule }) => {
      if (rule === 'disabled') await disableProvider(deps, actingIn(request));
      else await enforceProvider(deps, { ...actingIn(request), isEnforced: rule === 'required' });
      return 'sign-in-saved';
    },
    { isButton: true },
  );

  await scope.register(async (asking: Api) => {
    const tests = openPlaces(mostTests);
    admit(asking, (request) => ({ places: tests, owner: contextOf(request).organization.id }));
    const test = async (request: FastifyRequest) => {
      const provider = await find(request);
      if (provider !== null) await testProvider(deps, provider, redirectUriFor(request));
      return 'connection-works' as const;
    };
    settings.button(`${path}/test`, 'owner', test, { scope: asking, problemsIn: refusalIn });
  });
}

/** @throws the error again when it is none of the provider's. */
function refusalIn(error: unknown) {
  if (!(error instanceof SignInRefusal)) throw error;
  return { form: error.forAdmins };
}

function redirectUriFor(request: FastifyRequest): string {
  return new URL(companySignInCallback(contextOf(request).organization.id), originOf(request)).href;
}

function rolesIn(values: { [role in Role]?: string | undefined }): Record<string, string> {
  const entries = roles.flatMap((role) => {
    const given = (values[role] ?? '').split(',').flatMap((value) => value.trim() || []);
    return given.map((value): [string, string] => [value, role]);
  });
  // A value that is given twice counts for the highest role.
  return Object.fromEntries(entries.toReversed());
}

interface SettingsProps {
  provider: IdentityProvider | null;
  /** The address of the service. */
  origin: string;
  redirectUri: string;
}

function SignInSettings({ provider, origin, redirectUri }: SettingsProps) {
  return (
    <SettingsFrame page="company-sign-in">
      {provider === null ? (
        <p>Members sign in with their passwords. Enter your OpenID Connect provider to use its accounts.</p>
      ) : (
        <CurrentProvider provider={provider} origin={origin} />
      )}
      <Form
        to={path}
        title="Provider"
        submit="Save"
        schema={schema}
        initial={provider === null ? { scopes: defaultScopes } : entriesOf(provider)}
      >
        <p>
          Register this redirect URI: <Copyable text={redirectUri} label="redirect URI" />
        </p>
      </Form>
    </SettingsFrame>
  );
}

function entriesOf({ roles: map, ...provider }: IdentityProvider): Record<string, string> {
  const { issuer, clientId, scopes, roleClaim, acceptsUnverified } = provider;
  const valuesFor = (wanted: Role) =>
    Object.entries(map as Record<string, string>).flatMap(([value, role]) => (role === wanted ? value : []));
  const values = roles.map((role) => [role, valuesFor(role).join(', ')]);
  const accepted: Record<string, string> = acceptsUnverified ? { acceptsUnverified: 'yes' } : {};
  return { issuer, clientId, scopes, roleClaim, ...accepted, ...Object.fromEntries(values) };
}

function CurrentProvider({ provider, origin }: { provider: IdentityProvider; origin: string }) {
  const { organizationId, isEnforced, ownerSignedInAt } = provider;
  const link = new URL(`${companySignInPath}/${organizationId}`, origin).href;
  return (
    <Card id="company-sign-in" title="Company sign-in">
      <p>
        {isEnforced
          ? 'Members other than owners must sign in with the provider.'
          : 'Members can sign in with the provider, or with their passwords until they first do.'}
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
        <Post to={`${path}/test`}>Test connection</Post>
        {ownerSignedInAt && <RuleButton isEnforced={isEnforced} />}
        <Confirm
          id="disable"
          action="Disable"
          title="Disable company sign-in?"
          kind="danger"
          to={`${path}/rule`}
          values={{ rule: 'disabled' }}
        >
          <p>Members then need a password. An operator of this service can set one.</p>
        </Confirm>
      </div>
      {ownerSignedInAt === null ? (
        <p class="small muted">To require it, first sign in as an owner with the sign-in link.</p>
      ) : null}
    </Card>
  );
}

function RuleButton({ isEnforced }: { isEnforced: boolean }) {
  return (
    <Confirm
      id="rule"
      action={isEnforced ? 'Stop requiring' : 'Require'}
      title={isEnforced ? 'Stop requiring company sign-in?' : 'Require company sign-in?'}
      kind="primary"
      to={`${path}/rule`}
      values={{ rule: isEnforced ? 'optional' : 'required' }}
    >
      <p>
        {isEnforced
          ? 'Members who have not signed in with the provider can then use their passwords again.'
          : 'Members other than owners can then open this organization only after signing in with the provider.'}
      </p>
    </Confirm>
  );
}
