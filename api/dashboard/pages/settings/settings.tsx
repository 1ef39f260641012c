import type { ApiDependencies } from '../../../http/dependencies.ts';
import type { Api } from '../../../http/route.ts';
import { contextOf } from '../../http/access.ts';
import { accountPages } from './accounts.tsx';
import { apiKeyPages } from './api-keys.tsx';
import { auditLogPages } from './audit-log.tsx';
import { memberPages } from './members.tsx';

/** The settings pages: API keys, processor accounts, members and the audit log. */
export function settingsPages(scope: Api, deps: ApiDependencies): void {
  scope.get('/settings', { config: { role: 'viewer' } }, async (request, reply) =>
    reply.redirect(`${contextOf(request).base}/settings/api-keys`, 303),
  );
  apiKeyPages(scope, deps);
  accountPages(scope, deps);
  memberPages(scope, deps);
  auditLogPages(scope, deps);
}
