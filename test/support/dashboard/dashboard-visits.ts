import type { Page } from 'playwright-core';
import { newLinkToken } from '#shared/notifications/links.ts';
import type { Prisma, Refund } from '#shared/platform/database.ts';
import { setPolicies } from '#shared/policies/stored-policies.ts';
import { refundStatuses } from '#shared/refunds/model/states.ts';
import { newPayment } from '../refunds/payments.ts';
import { unknownRefundId } from '../refunds/refund-records.ts';
import type { TestService } from '../service.ts';
import { addPerson } from './dashboard-browser.ts';
import { type DashboardStage, policies, type Visitor } from './dashboard-stage.ts';

/** A page, and how to get there. */
export interface Visit {
  /** The user; the owner by default. */
  as?: Visitor;
  /** The status of the page's response; 200 by default. */
  status?: number;
  /** Opens the page in the state to look at. */
  arrive: (page: Page) => Promise<unknown>;
}

/** The latest refund that matches. */
export async function anyRefund({ deps }: TestService, where: Prisma.RefundWhereInput): Promise<Refund> {
  return await deps.db.refund.findFirstOrThrow({ where, orderBy: { createdAt: 'desc' } });
}

/** Every page of the dashboard, in each state that looks different. */
export function visitsOf(service: TestService, stage: DashboardStage): Record<string, Visit> {
  async function enterRefund(page: Page, amount: string): Promise<void> {
    const transactionId = await newPayment(service);
    await page.goto(`${stage.base}/refunds/new`);
    await page.getByLabel('Transaction').fill(transactionId);
    await page.getByLabel('Amount').fill(amount);
    await page.getByLabel('Reason').selectOption('product_defective');
    await page.getByLabel('Metadata').fill('{"ticket": "T-1001"}');
    await page.getByRole('button', { name: 'Review' }).click();
  }

  const openDialog = async (page: Page, where: Prisma.RefundWhereInput, button: string) => {
    await page.goto(`${stage.base}/refunds/${(await anyRefund(service, where)).id}`);
    await page.getByRole('button', { name: button, exact: true }).first().click();
    await page.getByRole('dialog').waitFor();
  };

  const uploadBatch = async (page: Page, url: string, csv: string, mode = 'strict') => {
    await page.goto(url);
    await page
      .getByLabel('File', { exact: true })
      .setInputFiles({ name: 'refunds.csv', mimeType: 'text/csv', buffer: Buffer.from(csv) });
    await page.getByLabel('Invalid rows').selectOption(mode);
    await page.getByRole('button', { name: 'Create test refunds' }).click();
  };

  /** Gives a user a second factor while a page is opened. */
  const withSecondFactor = async (userId: string, open: () => Promise<void>) => {
    const factor = { userId, lastStep: 0, enabledAt: new Date(), encryptionKeyId: 'none' };
    await service.deps.db.secondFactor.create({ data: { ...factor, encryptedSecret: new Uint8Array() } });
    await open();
    await service.deps.db.secondFactor.delete({ where: { userId } });
  };

  const holdPolicies = (held: readonly object[]) =>
    setPolicies(service.deps, {
      organizationId: service.organization.id,
      file: { policies: held },
      actor: 'test',
    });

  return {
    'sign-in': { as: 'visitor', arrive: (page) => page.goto('/dashboard/sign-in') },
    'sign-in-refused': {
      as: 'visitor',
      status: 401,
      arrive: async (page) => {
        await page.goto('/dashboard/sign-in');
        await page.getByLabel('Email address').fill('nobody@example.com');
        await page.getByLabel('Password').fill('not the password');
        await page.getByRole('button', { name: 'Sign in' }).click();
        await page.getByRole('alert').waitFor();
      },
    },
    'set-up': { as: 'first', arrive: (page) => page.goto('/dashboard/set-up') },
    invitation: { as: 'visitor', arrive: (page) => page.goto(`/dashboard/invitation/${stage.invitation}`) },
    'invitation-over': {
      as: 'visitor',
      status: 404,
      arrive: (page) => page.goto('/dashboard/invitation/inv_none'),
    },
    'password-reset': { as: 'visitor', arrive: (page) => page.goto('/dashboard/password-reset') },
    'new-password': {
      as: 'visitor',
      arrive: async (page) => {
        const { userId: target } = await addPerson(service, 'viewer');
        const token = await newLinkToken(service.deps.db, { kind: 'password_reset', target });
        await page.goto(`/dashboard/password-reset/${token}`);
      },
    },
    'new-password-over': {
      as: 'visitor',
      status: 404,
      arrive: (page) => page.goto('/dashboard/password-reset/reset_none'),
    },
    organizations: { as: 'viewer', arrive: (page) => page.goto('/dashboard') },
    you: { arrive: (page) => page.goto('/dashboard/you') },
    'sign-in-code': {
      as: 'visitor',
      arrive: async (page) => {
        const { userId, email, password } = await addPerson(service, 'viewer');
        await withSecondFactor(userId, async () => {
          await page.goto('/dashboard/sign-in');
          await page.getByLabel('Email address').fill(email);
          await page.getByLabel('Password').fill(password);
          await page.getByRole('button', { name: 'Sign in' }).click();
          await page.getByRole('heading', { name: 'Enter your code' }).waitFor();
        });
      },
    },
    'second-factor-set-up': {
      arrive: async (page) => {
        await page.goto('/dashboard/you');
        await page.getByRole('button', { name: 'Set up' }).click();
        await page.getByRole('img', { name: 'QR code' }).waitFor();
      },
    },
    'recovery-codes': {
      as: 'newcomer',
      arrive: async (page) => {
        const { userId } = await service.deps.db.membership.findFirstOrThrow({
          where: { organizationId: stage.emptyBase.split('/')[2] ?? '', role: 'owner' },
        });
        await withSecondFactor(userId, async () => {
          await page.goto('/dashboard/you');
          await page.getByRole('button', { name: 'New recovery codes' }).click();
          await page.getByRole('heading', { name: 'New recovery codes' }).waitFor();
        });
      },
    },
    confirmation: {
      as: 'viewer',
      status: 403,
      arrive: async (page) => {
        // No session of a viewer is confirmed any more.
        const isViewer = { memberships: { every: { role: 'viewer' as const } } };
        await service.deps.db.session.updateMany({ where: { user: isViewer }, data: { data: {} } });
        await page.goto('/dashboard/you');
        await page.getByRole('button', { name: 'Set up' }).click();
        await page.getByLabel('Your password').waitFor();
      },
    },
    overview: { arrive: (page) => page.goto(`${stage.base}?days=90`) },
    'overview-empty': { as: 'newcomer', arrive: (page) => page.goto(stage.emptyBase) },
    'overview-one-day': { arrive: (page) => page.goto(`${stage.base}?days=1`) },
    search: { arrive: (page) => page.goto(`${stage.base}/search?q=ch_3`) },
    'search-dialog': {
      arrive: async (page) => {
        await page.goto(`${stage.base}/policies`);
        await page.keyboard.press('Control+k');
        await page.keyboard.type('19.00');
        await page.locator('dialog .hits a').first().waitFor();
      },
    },
    health: { arrive: (page) => page.goto(`${stage.base}/health`) },
    reconciliation: { arrive: (page) => page.goto(`${stage.base}/reconciliation`) },
    refunds: { arrive: (page) => page.goto(`${stage.base}/refunds`) },
    'refunds-filtered': {
      arrive: (page) => page.goto(`${stage.base}/refunds?status=failed&currency=eur&from=2020-01-01`),
    },
    'refunds-selected': {
      arrive: async (page) => {
        await page.goto(`${stage.base}/refunds?needsAttention=true&select=all`);
        await page.getByRole('button', { name: 'Decide' }).click();
        await page.getByRole('dialog').waitFor();
      },
    },
    'refunds-decided': {
      arrive: async (page) => {
        await page.goto(`${stage.base}/refunds?status=pending&select=all`);
        await page.getByRole('button', { name: 'Decide' }).click();
        await page.getByLabel('Recheck').check();
        await page.getByRole('dialog').getByRole('button', { name: 'Decide' }).click();
        await page.getByRole('heading', { name: 'Results' }).waitFor();
      },
    },
    'refunds-not-found': { arrive: (page) => page.goto(`${stage.base}/refunds?q=re_nobody`) },
    'refunds-bad-filter': {
      status: 400,
      arrive: (page) => page.goto(`${stage.base}/refunds?from=2026-02-01&to=2026-01-01`),
    },
    approvals: { arrive: (page) => page.goto(`${stage.base}/approvals`) },
    'approvals-for-a-viewer': { as: 'viewer', arrive: (page) => page.goto(`${stage.base}/approvals`) },
    'approvals-reject': {
      arrive: async (page) => {
        await page.goto(`${stage.base}/approvals`);
        await page.keyboard.press('r');
        await page.getByRole('dialog').waitFor();
      },
    },
    'approvals-none': { as: 'newcomer', arrive: (page) => page.goto(`${stage.emptyBase}/approvals`) },
    'refunds-empty': { as: 'newcomer', arrive: (page) => page.goto(`${stage.emptyBase}/refunds`) },
    ...Object.fromEntries(
      refundStatuses.map((status) => [
        `refund-${status}`,
        {
          arrive: async (page) =>
            page.goto(
              `${stage.base}/refunds/${(await anyRefund(service, { status, OR: [{ work: null }, { work: { flaggedAt: null } }] })).id}`,
            ),
        } satisfies Visit,
      ]),
    ),
    'refund-flagged': {
      arrive: async (page) =>
        page.goto(
          `${stage.base}/refunds/${(await anyRefund(service, { status: 'processing', work: { flaggedAt: { not: null } } })).id}`,
        ),
    },
    'refund-approve': {
      // Nobody approves what the same person has asked for.
      arrive: (page) => openDialog(page, { status: 'pending', initiatedBy: { not: 'dashboard' } }, 'Approve'),
    },
    'refund-reject': { arrive: (page) => openDialog(page, { status: 'pending' }, 'Reject') },
    'refund-decide': {
      arrive: (page) => openDialog(page, { work: { flaggedAt: { not: null } } }, 'Resolve'),
    },
    'refund-reject-unfinished': {
      status: 400,
      arrive: async (page) => {
        await openDialog(page, { status: 'pending' }, 'Reject');
        await page.getByLabel('Reason').fill('   ');
        await page.getByRole('dialog').getByRole('button', { name: 'Reject' }).click();
        await page.locator('.problem').waitFor();
      },
    },
    payment: {
      arrive: async (page) => page.goto(`${stage.base}/payments/${await newPayment(service)}`),
    },
    'payment-refunded': {
      arrive: async (page) =>
        page.goto(
          `${stage.base}/payments/${(await anyRefund(service, { processor: 'stripe' })).transactionId}`,
        ),
    },
    'payment-missing': {
      status: 404,
      arrive: (page) => page.goto(`${stage.base}/payments/ch_missing1`),
    },
    'refund-new': { arrive: (page) => page.goto(`${stage.base}/refunds/new`) },
    'refund-new-problem': {
      status: 400,
      arrive: async (page) => {
        await enterRefund(page, '1000');
        await page.locator('.problem').waitFor();
      },
    },
    'refund-new-confirm': {
      arrive: async (page) => {
        await enterRefund(page, '25.00');
        await page.getByRole('heading', { name: 'Review refund' }).waitFor();
      },
    },
    batches: { arrive: (page) => page.goto(`${stage.base}/batches`) },
    'batches-refused': {
      status: 400,
      arrive: async (page) => {
        await uploadBatch(page, `${stage.base}/batches`, 'transactionId,amount,reason\nch_1,none,other');
        await page.getByRole('alert').waitFor();
      },
    },
    batch: {
      arrive: async (page) => {
        const csv = 'transactionId,amount,reason\nch_batch_1,100,other\nch_batch_2,x,other';
        await uploadBatch(page, `${stage.base}/batches`, csv, 'partial');
        await page.getByRole('heading', { name: 'Progress' }).waitFor();
      },
    },
    policies: { arrive: (page) => page.goto(`${stage.base}/policies`) },
    'policies-viewer': { as: 'viewer', arrive: (page) => page.goto(`${stage.base}/policies`) },
    'policies-new': { arrive: (page) => page.goto(`${stage.base}/policies/new`) },
    'policies-edit': { arrive: (page) => page.goto(`${stage.base}/policies/edit?name=Electronics`) },
    'policies-problem': {
      status: 400,
      arrive: async (page) => {
        await page.goto(`${stage.base}/policies/edit?name=Electronics`);
        await page.getByLabel('Refund window (days)').fill('a month');
        await page.getByRole('button', { name: 'Save' }).click();
        await page.locator('.problem').waitFor();
      },
    },
    'policies-replay': {
      arrive: async (page) => {
        await page.goto(`${stage.base}/policies/edit?name=Electronics`);
        await page.getByLabel('Refund window (days)').fill('1');
        await page.getByRole('button', { name: 'Replay' }).click();
        await page.getByRole('heading', { name: 'Replay of the last 90 days' }).waitFor();
      },
    },
    'policies-delete': {
      arrive: async (page) => {
        await page.goto(`${stage.base}/policies`);
        await page.getByRole('button', { name: 'Delete' }).first().click();
        await page.getByRole('dialog').waitFor();
      },
    },
    'policies-conflict': {
      status: 409,
      arrive: async (page) => {
        await page.goto(`${stage.base}/policies/edit?name=Electronics`);
        await page.getByLabel('Refund window (days)').fill('14');
        await holdPolicies(policies.slice(0, 1));
        await page.getByRole('button', { name: 'Save' }).click();
        await page.getByText('Someone else changed the policies').waitFor();
        await holdPolicies(policies);
      },
    },
    agents: { arrive: (page) => page.goto(`${stage.base}/agents`) },
    'agents-empty': { as: 'newcomer', arrive: (page) => page.goto(`${stage.emptyBase}/agents`) },
    webhooks: { arrive: (page) => page.goto(`${stage.base}/webhooks`) },
    'webhooks-empty': { as: 'newcomer', arrive: (page) => page.goto(`${stage.emptyBase}/webhooks`) },
    'webhook-endpoint': {
      arrive: (page) => page.goto(`${stage.base}${stage.delivery.split('/deliveries')[0]}`),
    },
    'webhook-delivery': { arrive: (page) => page.goto(`${stage.base}${stage.delivery}`) },
    'settings-api-keys': { arrive: (page) => page.goto(`${stage.base}/settings/api-keys`) },
    'settings-api-keys-empty': {
      as: 'newcomer',
      arrive: (page) => page.goto(`${stage.emptyBase}/settings/api-keys`),
    },
    'settings-api-key-created': {
      arrive: async (page) => {
        await page.goto(`${stage.base}/settings/api-keys`);
        await page.getByRole('button', { name: 'Create test key' }).click();
        await page.getByRole('heading', { name: 'API key created' }).waitFor();
      },
    },
    'settings-accounts': { arrive: (page) => page.goto(`${stage.base}/settings/accounts`) },
    'settings-accounts-tested': {
      arrive: async (page) => {
        await page.goto(`${stage.base}/settings/accounts`);
        await page.getByRole('button', { name: 'Test connection to Stripe' }).click();
        await page.getByText('Stripe accepts the credentials').waitFor();
      },
    },
    'settings-accounts-empty': {
      as: 'newcomer',
      arrive: (page) => page.goto(`${stage.emptyBase}/settings/accounts`),
    },
    'settings-stripe': { arrive: (page) => page.goto(`${stage.base}/settings/accounts/stripe`) },
    'settings-braintree': { arrive: (page) => page.goto(`${stage.base}/settings/accounts/braintree`) },
    'settings-sent-metadata': {
      arrive: (page) => page.goto(`${stage.base}/settings/accounts/stripe/metadata`),
    },
    'settings-notifications': {
      arrive: async (page) => {
        await page.goto(`${stage.base}/settings/notifications`);
        await page.getByLabel('Webhook URL').fill('https://hooks.example.com/services/1');
        await page.getByRole('button', { name: 'Save' }).click();
        await page.getByRole('button', { name: 'Send a test' }).waitFor();
      },
    },
    'settings-sign-in': { arrive: (page) => page.goto(`${stage.base}/settings/company-sign-in`) },
    'settings-members': { arrive: (page) => page.goto(`${stage.base}/settings/members`) },
    'settings-invited': {
      arrive: async (page) => {
        await page.goto(`${stage.base}/settings/members`);
        await page.getByLabel('Email address').fill('another.new.colleague@example.com');
        await page.getByRole('button', { name: 'Create invite link' }).click();
        await page.getByRole('heading', { name: 'Invite link created' }).waitFor();
      },
    },
    'settings-audit-log': { arrive: (page) => page.goto(`${stage.base}/settings/audit-log`) },
    'settings-audit-log-bad-range': {
      status: 400,
      arrive: (page) => page.goto(`${stage.base}/settings/audit-log?from=2026-02-02&to=2026-02-01`),
    },
    'error-403': {
      as: 'viewer',
      status: 403,
      arrive: (page) => page.goto(`${stage.base}/settings/audit-log`),
    },
    'error-404': { status: 404, arrive: (page) => page.goto(`${stage.base}/refunds/${unknownRefundId}`) },
  };
}
