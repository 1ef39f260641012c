import formbody from '@fastify/formbody';
import type { ApiDependencies } from '../http/dependencies.ts';
import { limitRate } from '../http/rate-limit.ts';
import type { Api } from '../http/route.ts';
import { confirmRights, requireMember, requireVisitor, visitorOf } from './http/access.ts';
import { assetRoutes } from './http/assets.ts';
import { protectPages } from './http/content-policy.ts';
import { makeFormTokens, requireCsrfToken } from './http/form-tokens.ts';
import { dashboardPath } from './http/paths.ts';
import { refuseOtherSites } from './http/same-origin.ts';
import { keepSessions } from './http/session.ts';
import { answerErrorsWithPages } from './pages/error-pages.tsx';
import { invitationPages } from './pages/invitation.tsx';
import { organizationPages } from './pages/organizations.tsx';
import { overviewPages } from './pages/overview/overview.tsx';
import { policyPages } from './pages/policies/policies.tsx';
import { refundPages } from './pages/refunds/refunds.ts';
import { setUpPages } from './pages/set-up.tsx';
import { settingsPages } from './pages/settings/settings.tsx';
import { signInPages, signOutRoute } from './pages/sign-in.tsx';
import { youPages } from './pages/you.tsx';
import { boardAccess } from './queues/board-access.ts';
import { auditBoardAct } from './queues/board-audit.ts';
import { registerQueueBoard } from './queues/queue-board.ts';
import { refuseDisguisedAddresses } from './unknown-addresses.ts';

/** Registers the pages for people, all of them under `/dashboard`. */
export async function dashboard(app: Api, deps: ApiDependencies): Promise<void> {
  assetRoutes(app);
  await app.register(async (scope: Api) => {
    answerErrorsWithPages(scope);
    protectPages(scope);
    refuseDisguisedAddresses(scope);
    refuseOtherSites(scope);
    scope.removeAllContentTypeParsers();
    await scope.register(formbody);
    await keepSessions(scope, deps);
    await makeFormTokens(scope);
    await scope.register(async (open: Api) => {
      await signInPages(open, deps);
      await setUpPages(open, deps);
      await invitationPages(open, deps);
    });
    await scope.register(async (inside: Api) => {
      requireVisitor(inside, deps);
      await limitPeople(inside, deps);
      await inside.register(async (board: Api) => {
        // Its pages come from a library and know no token of ours; what they send has to come from them.
        await registerQueueBoard(board, deps, {
          allow: (request) => boardAccess(deps.db, request),
          audit: (request, act) => auditBoardAct(deps, request, act),
        });
      });
      await inside.register((pages: Api) => pagesForPeople(pages, deps));
    });
  });
}

/** What is for people who are signed in, and sends forms of our own. */
async function pagesForPeople(pages: Api, deps: ApiDependencies): Promise<void> {
  requireCsrfToken(pages);
  signOutRoute(pages, deps);
  organizationPages(pages, deps);
  await youPages(pages, deps);
  await pages.register(
    async (room: Api) => {
      requireMember(room, deps);
      confirmRights(room, deps);
      overviewPages(room, deps);
      policyPages(room, deps);
      settingsPages(room, deps);
      refundPages(room, deps);
    },
    { prefix: `${dashboardPath}/:organizationId/:environment` },
  );
}

/** More than a person asks for, with all the pages that refresh themselves in a dozen windows. */
const requestsPerPersonAndSecond = 30;

/** Keeps a script that somebody runs with a session from being all that the dashboard has to do. */
async function limitPeople(inside: Api, deps: ApiDependencies): Promise<void> {
  await limitRate(inside, deps, {
    max: requestsPerPersonAndSecond,
    subjectOf: (request) => visitorOf(request).user.id,
  });
}
