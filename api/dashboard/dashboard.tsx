import { formBody } from '../http/body.ts';
import type { ApiDependencies } from '../http/dependencies.ts';
import { traceRequests } from '../http/request-records.ts';
import type { Api } from '../http/route.ts';
import { confirmRights, requireMember, requireVisitor, visitorOf } from './http/access.ts';
import { assetRoutes } from './http/assets.ts';
import { requireConfirmation } from './http/confirmation.ts';
import { enableCsrfTokens, refuseOtherSites, requireCsrfToken } from './http/csrf.ts';
import { openDownloads } from './http/downloads.ts';
import { dashboardPath } from './http/paths.ts';
import { limitUsers } from './http/rate-limits.ts';
import { protectPages, renderPages } from './http/render.ts';
import { enableSessions } from './http/session.ts';
import { auditLogExport } from './pages/activity/audit-export.ts';
import { auditLogPages } from './pages/activity/audit-log.tsx';
import { batchPages } from './pages/batches/batches.tsx';
import { companySignInPages } from './pages/company-sign-in.tsx';
import { Confirmation } from './pages/confirmation.tsx';
import { answerErrorsWithPages } from './pages/error-pages.tsx';
import { failedRequestPages } from './pages/failed-requests.tsx';
import { healthPage } from './pages/health.tsx';
import { invitationPages } from './pages/invitation.tsx';
import { agentKeyPages } from './pages/keys/agent-key.tsx';
import { apiKeyPages } from './pages/keys/api-keys.tsx';
import { memberPages } from './pages/members/members.tsx';
import { organizationPages } from './pages/organizations.tsx';
import { overviewPages } from './pages/overview/overview.tsx';
import { passwordResetPages } from './pages/password-reset.tsx';
import { paymentPage } from './pages/payment.tsx';
import { policyPages } from './pages/policies/policies.tsx';
import { receivedEventsPage } from './pages/received-events.tsx';
import { reconciliationPages } from './pages/reconciliation.tsx';
import { approvalQueuePages } from './pages/refunds/approval-queue.tsx';
import { bulkDecisionRoute } from './pages/refunds/bulk-decisions.tsx';
import { createRefundPages } from './pages/refunds/create.tsx';
import { refundPages } from './pages/refunds/detail.tsx';
import { refundExport } from './pages/refunds/export.ts';
import { refundListPages } from './pages/refunds/list.tsx';
import { reportPages } from './pages/report.tsx';
import { searchPage } from './pages/search.tsx';
import { setUpPages } from './pages/set-up.tsx';
import { accountPages } from './pages/settings/accounts.tsx';
import { approvalPages } from './pages/settings/approvals.tsx';
import { channelPages } from './pages/settings/channel.tsx';
import { companySignInSettings } from './pages/settings/company-sign-in.tsx';
import { customerTextPages } from './pages/settings/customer-texts.tsx';
import { signInPages, signOutRoute } from './pages/sign-in.tsx';
import { deliveryPages } from './pages/webhooks/delivery.tsx';
import { endpointPages } from './pages/webhooks/endpoint.tsx';
import { webhookPages } from './pages/webhooks/webhooks.tsx';
import { youPages } from './pages/you.tsx';
import { mayUseBoard } from './queues/board-access.ts';
import { registerQueueBoard } from './queues/queue-board.ts';
import { refuseDisguisedAddresses } from './unknown-addresses.ts';

/** Registers the dashboard under `/dashboard`: assets, public pages, and pages for signed-in users. */
export async function dashboard(app: Api, deps: ApiDependencies): Promise<void> {
  assetRoutes(app);
  await app.register(async (scope: Api) => {
    answerErrorsWithPages(scope);
    protectPages(scope);
    renderPages(scope);
    refuseDisguisedAddresses(scope);
    refuseOtherSites(scope);
    formBody(scope);
    await enableSessions(scope, deps);
    await enableCsrfTokens(scope);
    await scope.register(async (open: Api) => {
      signInPages(open, deps);
      await companySignInPages(open, deps);
      await setUpPages(open, deps);
      await invitationPages(open, deps);
      await passwordResetPages(open, deps);
    });
    await scope.register(async (inside: Api) => {
      traceRequests(inside);
      requireVisitor(inside, deps);
      await limitUsers(inside, deps);
      await inside.register((board: Api) =>
        registerQueueBoard(board, deps, (request) =>
          mayUseBoard(deps.db, visitorOf(request).user.id, request.session.companyOf),
        ),
      );
      await inside.register((pages: Api) => signedInPages(pages, deps));
    });
  });
}

/** The pages for signed-in users, whose forms require a CSRF token. */
async function signedInPages(pages: Api, deps: ApiDependencies): Promise<void> {
  requireCsrfToken(pages);
  requireConfirmation(pages, deps, Confirmation);
  signOutRoute(pages, deps);
  organizationPages(pages, deps);
  await youPages(pages, deps);
  await pages.register(
    async (scope: Api) => {
      requireMember(scope, deps);
      confirmRights(scope, deps);
      const downloads = openDownloads(scope, deps);
      overviewPages(scope, deps);
      searchPage(scope, deps);
      healthPage(scope, deps);
      receivedEventsPage(scope, deps);
      reconciliationPages(scope, deps);
      paymentPage(scope, deps);
      policyPages(scope, deps);
      webhookPages(scope, deps);
      endpointPages(scope, deps);
      deliveryPages(scope, deps);
      apiKeyPages(scope, deps);
      agentKeyPages(scope, deps);
      failedRequestPages(scope, deps);
      accountPages(scope, deps);
      memberPages(scope, deps);
      approvalPages(scope, deps);
      await companySignInSettings(scope, deps);
      channelPages(scope, deps);
      customerTextPages(scope, deps);
      auditLogPages(scope, deps);
      auditLogExport(scope, deps, downloads);
      refundListPages(scope, deps);
      refundExport(scope, deps, downloads);
      reportPages(scope, deps, downloads);
      await batchPages(scope, deps);
      createRefundPages(scope, deps);
      refundPages(scope, deps);
      bulkDecisionRoute(scope, deps);
      approvalQueuePages(scope, deps);
    },
    { prefix: `${dashboardPath}/:organizationId/:environment` },
  );
}
