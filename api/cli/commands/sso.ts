import { disableProvider, enforceProvider, setProvider } from '#shared/people/company-sign-in/provider.ts';
import type { AdminCommand } from '../console/admin-command.ts';
import { jsonOption, type Owner, organizationOption, type Shown } from '../console/options.ts';
import { explain, printList } from '../console/output.ts';
import { readJson, type Session } from '../console/session.ts';

const setHelp = `
The settings are JSON, from --settings-file or stdin, because they hold a secret:

  {"issuer": "https://login.example.com", "clientId": "...", "clientSecret": "...", "roleClaim": "groups",
   "roles": {"refund-admins": "admin", "support": "operator"}}

Register <address of the service>/dashboard/sign-in/company/callback at the provider as the redirect URI.
`;

/** `sso`: sign-in with the OpenID Connect provider of an organization. */
export function addSsoCommands(program: AdminCommand): void {
  const sso = program
    .command('sso')
    .description("set up sign-in with an organization's OpenID Connect provider");
  sso
    .command('set')
    .description('set or replace the provider, and stop requiring it')
    .addOption(organizationOption)
    .option('--settings-file <file>', 'file with the settings (default: stdin)')
    .explanation(setHelp)
    .examples('sso set --organization org_... --settings-file provider.json')
    .run(async (session, options: Owner & { settingsFile?: string }) => {
      const { organization: organizationId, settingsFile } = options;
      const settings = await readJson(settingsFile, 'settings');
      await setProvider(session, { organizationId, actor: session.actor, settings });
      explain(`Members sign in at /dashboard/sign-in/company/${organizationId}.`);
    });
  sso
    .command('show')
    .description('show the provider, without its secret')
    .addOption(organizationOption)
    .addOption(jsonOption)
    .examples('sso show --organization org_...')
    .run(show);
  sso
    .command('require')
    .description(
      'admit members other than owners only with the provider; an owner must have signed in with it',
    )
    .addOption(organizationOption)
    .examples('sso require --organization org_...')
    .run((session, options: Owner) => enforce(session, options, true));
  sso
    .command('optional')
    .description('admit members with their passwords as well')
    .addOption(organizationOption)
    .examples('sso optional --organization org_...')
    .run((session, options: Owner) => enforce(session, options, false));
  sso
    .command('disable')
    .description('disable the provider, so that members sign in with their passwords')
    .addOption(organizationOption)
    .examples('sso disable --organization org_...')
    .run(async (session, { organization: organizationId }: Owner) => {
      await disableProvider(session, { organizationId, actor: session.actor });
      explain(`Disabled. Members without a password need one: user set-password.`);
    });
}

async function enforce(
  session: Session,
  { organization: organizationId }: Owner,
  isEnforced: boolean,
): Promise<void> {
  await enforceProvider(session, { organizationId, actor: session.actor, isEnforced });
  explain(isEnforced ? 'Required of all members except owners.' : 'Passwords work as well.');
}

async function show({ db }: Session, { organization: organizationId, json }: Owner & Shown): Promise<void> {
  const providers = await db.identityProvider.findMany({
    where: { organizationId },
    omit: { encryptedClientSecret: true, encryptionKeyId: true },
  });
  printList(providers, {
    json,
    empty: 'No provider is set up.',
    columns: {
      ISSUER: ({ issuer }) => issuer,
      CLIENT: ({ clientId }) => clientId,
      CLAIM: ({ roleClaim }) => roleClaim,
      ROLES: ({ roles }) => JSON.stringify(roles),
      STATE: ({ disabledAt, isEnforced }) =>
        disabledAt !== null ? 'disabled' : isEnforced ? 'required' : 'optional',
      'OWNER SIGNED IN': ({ ownerSignedInAt }) => ownerSignedInAt,
    },
  });
}
