import { testProvider } from '#shared/people/company-sign-in/authorization.ts';
import { SignInRefusal } from '#shared/people/company-sign-in/refusal.ts';
import { withoutCredentials } from '#shared/processors/accounts/account.ts';
import { testConnection } from '#shared/processors/accounts/test-connection.ts';
import { displayNameOf } from '#shared/processors/registry.ts';
import { warningsOf } from '../reports/account-check.ts';
import { about, type Check } from './finding.ts';

/** Of each kind; more would keep an operator waiting, and their processors busy. */
const most = 50;

/** What the credentials of each account may do, asked of its processor. */
export const checkAccounts: Check = async (session) => {
  const accounts = await session.db.processorAccount.findMany({
    ...{ where: { parentId: null }, omit: withoutCredentials, orderBy: { id: 'asc' }, take: most },
  });
  const findings = [];
  for (const account of accounts) {
    const { organizationId, environment, processor, name, id } = account;
    const found = about(`account ${name}, ${environment}, ${organizationId}`);
    const test = await testConnection(session, { account, actor: session.actor });
    const warnings = warningsOf(test, displayNameOf(processor));
    const webhooks = test.abilities.find(({ ability }) => ability === 'webhooks');
    if (warnings.length === 0) findings.push(found.right('The credentials work.'));
    findings.push(...warnings.map(test.verdict === 'unusable' ? found.wrong : found.warning));
    if (webhooks?.state !== 'unknown') continue;
    const address = `${session.settings.PUBLIC_URL ?? ''}/webhooks/${processor}/${id}`;
    findings.push(
      found.warning(`No webhook has arrived yet: let ${displayNameOf(processor)} send them to ${address}.`),
    );
  }
  return findings;
};

/** The identity providers, up to their token endpoints. */
export const checkSignIn: Check = async (session) => {
  const providers = await session.db.identityProvider.findMany({ where: { disabledAt: null }, take: most });
  const redirectUri = `${session.settings.PUBLIC_URL ?? 'http://localhost'}/dashboard/company-sign-in/callback`;
  return await Promise.all(
    providers.map(async (provider) => {
      const found = about(`company sign-in, ${provider.organizationId}`);
      return await testProvider(session, provider, redirectUri).then(
        () => found.right(`${provider.issuer} accepts the client.`),
        (error: Error) =>
          found.wrong(
            `${provider.issuer}: ${error instanceof SignInRefusal ? error.forAdmins : error.message}`,
          ),
      );
    }),
  );
};

/** The endpoints that accept no webhooks. */
export const checkEndpoints: Check = async ({ db }) => {
  const endpoints = await db.webhookEndpoint.findMany({
    where: { status: 'enabled', deletedAt: null, failingSince: { not: null } },
    ...{ orderBy: { failingSince: 'asc' }, take: most },
  });
  return endpoints.map(({ id, organizationId, url, failingSince }) =>
    about(`webhook endpoint ${id}, ${organizationId}`).warning(
      `${url} has accepted nothing since ${failingSince?.toISOString()}: see its deliveries in the dashboard.`,
    ),
  );
};
