import type { Page } from 'playwright-core';
import type { Prisma, Refund } from '../../../shared/platform/database.ts';
import { setPolicies } from '../../../shared/policies/stored-policies.ts';
import { refundStatuses } from '../../../shared/refunds/model/states.ts';
import { newPayment } from '../refunds/payments.ts';
import { unknownRefundId } from '../refunds/refund-records.ts';
import type { TestService } from '../service.ts';
import { type DashboardStage, policies, type Visitor } from './dashboard-stage.ts';

/** A page, and how one comes there. */
export interface Visit {
  /** Who looks; the owner unless told. */
  as?: Visitor;
  /** The answer to the page itself; 200 unless told. */
  status?: number;
  /** Brings the page to where it is looked at. */
  arrive: (page: Page) => Promise<unknown>;
}

/** The latest refund that is like this. */
export async function anyRefund({ deps }: TestService, where: Prisma.RefundWhereInput): Promise<Refund> {
  return await deps.db.refund.findFirstOrThrow({ where, orderBy: { createdAt: 'desc' } });
}

/** Every page of the dashboard, each in the states that look different. */
export function visitsOf(service: TestService, stage: DashboardStage): Record<string, Visit> {
  async function enterRefund(page: Page, amount: string): Promise<void> {
    const transactionId = await newPayment(service);
    await page.goto(`${stage.base}/refunds/new`);
    await page.getByLabel('Transaction').fill(transactionId);
    await page.getByLabel('Amount').fill(amount);
    await page.getByLabel('Reason').selectOption('product_defective');
    await page.getByLabel('Metadata').fill('{"ticket": "T-1001"}');
    await page.getByRole('button', { name: 'Check' }).click();
  }

  const openDialog = async (page: Page, where: Prisma.RefundWhereInput, button: string) => {
    await page.goto(`${stage.base}/refunds/${(await anyRefund(service, where)).id}`);
    await page.getByRole('button', { name: button, exact: true }).first().click();
    await page.getByRole('dialog').waitFor();
  };

  const holdPolicies = (held: readonly object[]) =>
    setPolicies(service.deps, {
      organizationId: service.organization.id,
      file: { policies: held },
      actor: 'test',
    });

  async function openJson(page: Page, file?: object): Promise<void> {
    await page.goto(`${stage.base}/policies`);
    await page.getByRole('button', { name: 'Edit as JSON' }).click();
    const text = page.getByLabel('Policies as JSON');
    await text.waitFor();
    if (file !== undefined) await text.fill(JSON.stringify(file, null, 2));
  }

  return {
    'sign-in': { as: 'stranger', arrive: (page) => page.goto('/dashboard/sign-in') },
    'sign-in-refused': {
      as: 'stranger',
      status: 401,
      arrive: async (page) => {
        await page.goto('/dashboard/sign-in');
        await page.getByLabel('E-mail address').fill('nobody@example.com');
        await page.getByLabel('Password').fill('not the password');
        await page.getByRole('button', { name: 'Sign in' }).click();
        await page.getByRole('alert').waitFor();
      },
    },
    'set-up': { as: 'first', arrive: (page) => page.goto('/dashboard/set-up') },
    invitation: { as: 'stranger', arrive: (page) => page.goto(`/dashboard/invitation/${stage.invitation}`) },
    'invitation-over': {
      as: 'stranger',
      status: 404,
      arrive: (page) => page.goto('/dashboard/invitation/inv_none'),
    },
    organizations: { as: 'viewer', arrive: (page) => page.goto('/dashboard') },
    you: { arrive: (page) => page.goto('/dashboard/you') },
    overview: { arrive: (page) => page.goto(`${stage.base}?days=90`) },
    'overview-empty': { as: 'newcomer', arrive: (page) => page.goto(stage.emptyBase) },
    refunds: { arrive: (page) => page.goto(`${stage.base}/refunds`) },
    'refunds-filtered': {
      arrive: (page) => page.goto(`${stage.base}/refunds?status=failed&currency=eur&from=2020-01-01`),
    },
    'refunds-not-found': { arrive: (page) => page.goto(`${stage.base}/refunds?q=re_nobody`) },
    'refunds-bad-filter': {
      status: 400,
      arrive: (page) => page.goto(`${stage.base}/refunds?from=2026-02-01&to=2026-01-01`),
    },
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
        await page.getByRole('heading', { name: 'Confirm the refund' }).waitFor();
      },
    },
    policies: { arrive: (page) => page.goto(`${stage.base}/policies`) },
    'policies-viewer': { as: 'viewer', arrive: (page) => page.goto(`${stage.base}/policies`) },
    'policies-edit': {
      arrive: async (page) => {
        await page.goto(`${stage.base}/policies`);
        await page.locator('summary', { hasText: 'Edit Electronics' }).click();
        await page.getByLabel('Refund window (days)').first().waitFor();
      },
    },
    'policies-added': {
      arrive: async (page) => {
        await page.goto(`${stage.base}/policies`);
        await page.getByRole('button', { name: 'Remove Everything else' }).click();
        await page.getByText('No longer there once you confirm').waitFor();
        await page.getByRole('button', { name: 'Add a policy' }).click();
        await page.getByRole('region', { name: 'New policy' }).waitFor();
      },
    },
    'policies-form-problem': {
      status: 400,
      arrive: async (page) => {
        await page.goto(`${stage.base}/policies`);
        await page.locator('summary', { hasText: 'Edit Electronics' }).click();
        await page.getByLabel('Refund window (days)').first().fill('a month');
        await page.getByRole('button', { name: 'Preview' }).click();
        await page.locator('.problem').waitFor();
      },
    },
    'policies-json': { arrive: (page) => openJson(page) },
    'policies-preview': {
      arrive: async (page) => {
        const stricter = policies.map((policy) => ({ ...policy, windowDays: 1, enforce: { api: true } }));
        await openJson(page, { policies: stricter });
        await page.getByRole('button', { name: 'Preview' }).click();
        await page.getByRole('heading', { name: 'Preview' }).waitFor();
      },
    },
    'policies-hold': {
      arrive: async (page) => {
        await page.goto(`${stage.base}/policies`);
        await page.getByRole('button', { name: 'Remove Everything else' }).click();
        await page.getByText('No longer there once you confirm').waitFor();
        await page.getByRole('button', { name: 'Preview' }).click();
        await page.getByRole('button', { name: 'Save the policies' }).click();
        await page.getByRole('dialog').waitFor();
      },
    },
    'policies-problem': {
      status: 400,
      arrive: async (page) => {
        await openJson(page, { policies: [{ name: 1 }] });
        await page.getByRole('button', { name: 'Preview' }).click();
        await page.locator('.problem').waitFor();
      },
    },
    'policies-late': {
      status: 409,
      arrive: async (page) => {
        await page.goto(`${stage.base}/policies`);
        await holdPolicies(policies.slice(0, 1));
        await page.getByRole('button', { name: 'Preview' }).click();
        await page.getByRole('heading', { name: 'What holds now' }).waitFor();
        await holdPolicies(policies);
      },
    },
    'settings-api-keys': { arrive: (page) => page.goto(`${stage.base}/settings/api-keys`) },
    'settings-api-keys-empty': {
      as: 'newcomer',
      arrive: (page) => page.goto(`${stage.emptyBase}/settings/api-keys`),
    },
    'settings-api-key-created': {
      arrive: async (page) => {
        await page.goto(`${stage.base}/settings/api-keys`);
        await page.getByRole('button', { name: 'Create a test key' }).click();
        await page.getByRole('heading', { name: 'Copy the new key now' }).waitFor();
      },
    },
    'settings-accounts': { arrive: (page) => page.goto(`${stage.base}/settings/accounts`) },
    'settings-accounts-tested': {
      arrive: async (page) => {
        await page.goto(`${stage.base}/settings/accounts`);
        await page.getByRole('button', { name: 'Test the connection to Stripe' }).click();
        await page.getByText('Stripe answers').waitFor();
      },
    },
    'settings-accounts-empty': {
      as: 'newcomer',
      arrive: (page) => page.goto(`${stage.emptyBase}/settings/accounts`),
    },
    'settings-stripe': { arrive: (page) => page.goto(`${stage.base}/settings/accounts/stripe`) },
    'settings-braintree': { arrive: (page) => page.goto(`${stage.base}/settings/accounts/braintree`) },
    'settings-members': { arrive: (page) => page.goto(`${stage.base}/settings/members`) },
    'settings-invited': {
      arrive: async (page) => {
        await page.goto(`${stage.base}/settings/members`);
        await page.getByLabel('E-mail address').fill('another.new.colleague@example.com');
        await page.getByRole('button', { name: 'Make a link' }).click();
        await page.getByRole('heading', { name: 'Copy the link' }).waitFor();
      },
    },
    'settings-audit-log': { arrive: (page) => page.goto(`${stage.base}/settings/audit-log`) },
    menu: {
      arrive: async (page) => {
        await page.goto(`${stage.base}/policies`);
        await page.locator('summary', { hasText: stage.people.owner.email }).click();
      },
    },
    'error-403': {
      as: 'viewer',
      status: 403,
      arrive: (page) => page.goto(`${stage.base}/settings/audit-log`),
    },
    'error-404': { status: 404, arrive: (page) => page.goto(`${stage.base}/refunds/${unknownRefundId}`) },
  };
}
