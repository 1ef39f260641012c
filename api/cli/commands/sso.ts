import { disableProvider, enforceProvider, setProvider } from '#shared/people/company-sign-in/provider.ts';
import { command, commands, listing } from '../console/command.ts';
import { organization, text } from '../console/options.ts';
import { explain } from '../console/output.ts';
import { readJson } from '../console/session.ts';

const setHelp = `
The settings are JSON, from --settings-file or stdin, because they hold a secret:

  {"issuer": "https://login.example.com", "clientId": "...", "clientSecret": "...", "roleClaim": "groups",
   "roles": {"refund-admins": "admin", "support": "operator"}}

Register <address of the service>/dashboard/sign-in/company/<organization>/callback at the provider as the redirect URI.
`;

/** Sign-in with the OpenID Connect provider of an organization. */
export const ssoCommands = commands("set up sign-in with an organization's OpenID Connect provider", {
  set: command({
    description: 'set or replace the provider, and stop requiring it',
    options: { organization, settingsFile: text('<file>', 'file with the settings (default: stdin)') },
    explanation: setHelp,
    examples: ['--organization org_... --settings-file provider.json'],
    async run(session, { organization: organizationId, settingsFile }) {
      const settings = await readJson(settingsFile, 'settings');
      await setProvider(session, { organizationId, actor: session.actor, settings });
      explain(`Members sign in at /dashboard/sign-in/company/${organizationId}.`);
    },
  }),
  show: listing({
    description: 'show the provider, without its secret',
    options: { organization },
    examples: ['--organization org_...'],
    read: ({ db }, { organization: organizationId }) =>
      db.identityProvider.findMany({
        where: { organizationId },
        omit: { encryptedClientSecret: true, encryptionKeyId: true },
      }),
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
  }),
  require: enforcing(
    'admit members other than owners only with the provider; an owner must have signed in with it',
    true,
  ),
  optional: enforcing('admit members with their passwords as well', false),
  disable: command({
    description: 'disable the provider, so that members sign in with their passwords',
    options: { organization },
    examples: ['--organization org_...'],
    async run(session, { organization: organizationId }) {
      await disableProvider(session, { organizationId, actor: session.actor });
      explain('Disabled. Members without a password need one: user reset-password.');
    },
  }),
});

function enforcing(description: string, isEnforced: boolean) {
  return command({
    description,
    options: { organization },
    examples: ['--organization org_...'],
    async run(session, { organization: organizationId }) {
      await enforceProvider(session, { organizationId, actor: session.actor, isEnforced });
      explain(isEnforced ? 'Required of all members except owners.' : 'Passwords work as well.');
    },
  });
}
