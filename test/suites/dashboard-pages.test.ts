import type { BrowserContextOptions, Page } from 'playwright-core';
import { beforeAll, describe, expect, inject, test } from 'vitest';
import type { Prisma, Refund } from '../../shared/db.ts';
import { createApiKey } from '../../shared/organizations/api-keys.ts';
import { createOrganization } from '../../shared/organizations/create-organization.ts';
import { setPolicies } from '../../shared/organizations/policies.ts';
import { invite } from '../../shared/people/invitations.ts';
import { refundStatuses } from '../../shared/refunds/states.ts';
import { noteComplaints } from '../harness/browser.ts';
import { addPerson, signInAt, useDashboardBrowser } from '../harness/dashboard-browser.ts';
import { withClient } from '../harness/database-client.ts';
import { fillLifelikeRefunds } from '../harness/lifelike-refunds.ts';
import { accessibilityProblems, overflowOf, takeScreenshot } from '../harness/page-inspection.ts';
import { newPayment } from '../harness/payments.ts';
import type { TestPerson } from '../harness/people.ts';
import { unknownRefundId } from '../harness/refund-records.ts';
import type { TestService } from '../harness/service.ts';
import { useService } from '../harness/use-service.ts';

const devices: Record<'desktop' | 'phone', BrowserContextOptions> = {
  desktop: { viewport: { width: 1280, height: 800 }, reducedMotion: 'reduce' },
  phone: { viewport: { width: 360, height: 740 }, isMobile: true, hasTouch: true, reducedMotion: 'reduce' },
};
type Device = keyof typeof devices;

const policies = [
  {
    name: 'Electronics',
    priority: 1,
    match: { currencies: ['usd'], metadata: { channel: 'shop' } },
    windowDays: 30,
    maxPercent: 80,
    approvalAbove: { api: 20_000, dashboard: 50_000, mcp: 2_000 },
    velocity: { perTransaction: 3, perDay: { count: 200 } },
    enforce: { api: true, dashboard: true },
  },
  { name: 'Everything else', priority: 2, windowDays: 90, approvalAbove: { mcp: 0 } },
];

async function fill(service: TestService): Promise<void> {
  const { organization, deps, settings } = service;
  await setPolicies(deps, { organizationId: organization.id, file: { policies }, actor: 'test' });
  await withClient(settings.DATABASE_URL, (client) =>
    fillLifelikeRefunds(client, {
      organizationId: organization.id,
      environment: 'test',
      count: 300,
      now: new Date(),
      days: 90,
    }),
  );
}

describe.skipIf(inject('chromiumPath') === null)('each page, in a browser', () => {
  // Nobody works on the refunds: a page stays as it was filled.
  const service = useService({ workers: 0 });
  const untouched = useService({ workers: 0 });
  const browser = useDashboardBrowser(service);
  const untouchedBrowser = useDashboardBrowser(untouched);
  const people = {} as Record<'owner' | 'newcomer' | 'viewer', TestPerson>;
  const pages = {} as Record<Device, Record<'owner' | 'newcomer' | 'viewer' | 'stranger' | 'first', Page>>;
  let base: string;
  let emptyBase: string;
  let invitation: string;

  beforeAll(async () => {
    const { organization, deps } = service;
    people.owner = await addPerson(service, 'owner');
    people.viewer = await addPerson(service, 'viewer');
    await fill(service);
    const { id: emptyId } = await createOrganization(deps, { name: 'Beginners', actor: 'test' });
    people.newcomer = await addPerson(service, 'owner', emptyId);
    await deps.db.membership.create({
      data: { organizationId: emptyId, userId: people.viewer.userId, role: 'viewer', createdAt: new Date() },
    });
    const acting = { userId: people.owner.userId };
    const invited = {
      organizationId: organization.id,
      email: 'new.colleague@example.com',
      role: 'operator',
    } as const;
    invitation = (await invite(deps, { ...invited, acting })).token;
    base = `/dashboard/${organization.id}/test`;
    emptyBase = `/dashboard/${emptyId}/test`;
    for (const device of Object.keys(devices) as Device[]) {
      const open = () => browser.open(devices[device]);
      const first = await untouchedBrowser.open(devices[device]);
      pages[device] = {
        owner: await open(),
        newcomer: await open(),
        viewer: await open(),
        stranger: await open(),
        first,
      };
      for (const role of ['owner', 'newcomer', 'viewer'] as const)
        await signInAt(pages[device][role], people[role]);
    }
  });

  async function anyRefund(where: Prisma.RefundWhereInput): Promise<Refund> {
    return await service.deps.db.refund.findFirstOrThrow({ where, orderBy: { createdAt: 'desc' } });
  }

  interface Visit {
    /** Who looks; the owner unless told. */
    as?: keyof (typeof pages)[Device];
    /** The answer to the page itself; 200 unless told. */
    status?: number;
    /** Brings the page to where it is looked at. */
    arrive: (page: Page) => Promise<unknown>;
  }

  async function enterRefund(page: Page, amount: string): Promise<void> {
    const transactionId = await newPayment(service);
    await page.goto(`${base}/refunds/new`);
    await page.getByLabel('Transaction').fill(transactionId);
    await page.getByLabel('Amount').fill(amount);
    await page.getByLabel('Reason').selectOption('product_defective');
    await page.getByLabel('Metadata').fill('{"ticket": "T-1001"}');
    await page.getByRole('button', { name: 'Check' }).click();
  }

  const openDialog = async (page: Page, where: Prisma.RefundWhereInput, button: string) => {
    await page.goto(`${base}/refunds/${(await anyRefund(where)).id}`);
    await page.getByRole('button', { name: button, exact: true }).first().click();
    await page.getByRole('dialog').waitFor();
  };

  const visits: Record<string, Visit> = {
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
    invitation: { as: 'stranger', arrive: (page) => page.goto(`/dashboard/invitation/${invitation}`) },
    'invitation-over': {
      as: 'stranger',
      status: 404,
      arrive: (page) => page.goto('/dashboard/invitation/inv_none'),
    },
    organizations: { as: 'viewer', arrive: (page) => page.goto('/dashboard') },
    you: { arrive: (page) => page.goto('/dashboard/you') },
    overview: { arrive: (page) => page.goto(`${base}?days=90`) },
    'overview-empty': { as: 'newcomer', arrive: (page) => page.goto(emptyBase) },
    refunds: { arrive: (page) => page.goto(`${base}/refunds`) },
    'refunds-filtered': {
      arrive: (page) => page.goto(`${base}/refunds?status=failed&currency=eur&from=2020-01-01`),
    },
    'refunds-not-found': { arrive: (page) => page.goto(`${base}/refunds?q=re_nobody`) },
    'refunds-bad-filter': {
      status: 400,
      arrive: (page) => page.goto(`${base}/refunds?from=2026-02-01&to=2026-01-01`),
    },
    'refunds-empty': { as: 'newcomer', arrive: (page) => page.goto(`${emptyBase}/refunds`) },
    ...Object.fromEntries(
      refundStatuses.map((status) => [
        `refund-${status}`,
        {
          arrive: async (page) =>
            page.goto(`${base}/refunds/${(await anyRefund({ status, flaggedAt: null })).id}`),
        } satisfies Visit,
      ]),
    ),
    'refund-flagged': {
      arrive: async (page) =>
        page.goto(
          `${base}/refunds/${(await anyRefund({ status: 'processing', flaggedAt: { not: null } })).id}`,
        ),
    },
    'refund-approve': { arrive: (page) => openDialog(page, { status: 'pending' }, 'Approve') },
    'refund-reject': { arrive: (page) => openDialog(page, { status: 'pending' }, 'Reject') },
    'refund-decide': { arrive: (page) => openDialog(page, { flaggedAt: { not: null } }, 'Decide') },
    'refund-reject-unfinished': {
      status: 400,
      arrive: async (page) => {
        await openDialog(page, { status: 'pending' }, 'Reject');
        await page.getByLabel('Reason').fill('   ');
        await page.getByRole('dialog').getByRole('button', { name: 'Reject' }).click();
        await page.locator('.problem').waitFor();
      },
    },
    'refund-new': { arrive: (page) => page.goto(`${base}/refunds/new`) },
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
    policies: { arrive: (page) => page.goto(`${base}/policies`) },
    'policies-preview': {
      arrive: async (page) => {
        await page.goto(`${base}/policies`);
        const stricter = policies.map((policy) => ({ ...policy, windowDays: 1, enforce: { api: true } }));
        await page.getByLabel('Policies, the first').fill(JSON.stringify({ policies: stricter }, null, 2));
        await page.getByRole('button', { name: 'Preview' }).click();
        await page.getByRole('heading', { name: 'Preview' }).waitFor();
      },
    },
    'policies-problem': {
      status: 400,
      arrive: async (page) => {
        await page.goto(`${base}/policies`);
        await page.getByLabel('Policies, the first').fill('{"policies": [{"name": 1}]}');
        await page.getByRole('button', { name: 'Preview' }).click();
        await page.locator('.problem').waitFor();
      },
    },
    'settings-api-keys': { arrive: (page) => page.goto(`${base}/settings/api-keys`) },
    'settings-api-keys-empty': {
      as: 'newcomer',
      arrive: (page) => page.goto(`${emptyBase}/settings/api-keys`),
    },
    'settings-api-key-created': {
      arrive: async (page) => {
        await page.goto(`${base}/settings/api-keys`);
        await page.getByRole('button', { name: 'Create a test key' }).click();
        await page.getByRole('heading', { name: 'Copy the new key now' }).waitFor();
      },
    },
    'settings-accounts': { arrive: (page) => page.goto(`${base}/settings/accounts`) },
    'settings-accounts-tested': {
      arrive: async (page) => {
        await page.goto(`${base}/settings/accounts`);
        await page.getByRole('button', { name: 'Test the connection to Stripe' }).click();
        await page.getByText('Stripe answers').waitFor();
      },
    },
    'settings-accounts-empty': {
      as: 'newcomer',
      arrive: (page) => page.goto(`${emptyBase}/settings/accounts`),
    },
    'settings-stripe': { arrive: (page) => page.goto(`${base}/settings/accounts/stripe`) },
    'settings-braintree': { arrive: (page) => page.goto(`${base}/settings/accounts/braintree`) },
    'settings-members': { arrive: (page) => page.goto(`${base}/settings/members`) },
    'settings-invited': {
      arrive: async (page) => {
        await page.goto(`${base}/settings/members`);
        await page.getByLabel('E-mail address').fill('another.new.colleague@example.com');
        await page.getByRole('button', { name: 'Make a link' }).click();
        await page.getByRole('heading', { name: 'Copy the link' }).waitFor();
      },
    },
    'settings-audit-log': { arrive: (page) => page.goto(`${base}/settings/audit-log`) },
    menu: {
      arrive: async (page) => {
        await page.goto(`${base}/policies`);
        await page.locator('summary', { hasText: people.owner.email }).click();
      },
    },
    'error-403': { as: 'viewer', status: 403, arrive: (page) => page.goto(`${base}/settings/audit-log`) },
    'error-404': { status: 404, arrive: (page) => page.goto(`${base}/refunds/${unknownRefundId}`) },
  };

  describe.each(Object.keys(devices) as Device[])('on a %s', (device) => {
    test.each(Object.entries(visits))(
      '%s can be read and used by everybody, in light and dark',
      async (name, { as = 'owner', status = 200, arrive }) => {
        const page = pages[device][as];
        await page.emulateMedia({ colorScheme: 'light' });
        const complaints = noteComplaints(page);
        await arrive(page);
        await page.waitForLoadState('networkidle');
        const problems = await accessibilityProblems(page);
        await takeScreenshot(page, `${name}-${device}-light`);
        await page.emulateMedia({ colorScheme: 'dark' });
        // The colors are all that changes.
        const inTheDark = await accessibilityProblems(page, { runOnly: ['color-contrast'] });
        await takeScreenshot(page, `${name}-${device}-dark`);
        const overflow = await overflowOf(page);
        page.removeAllListeners();
        expect({ problems, inTheDark, overflow }).toEqual({ problems: [], inTheDark: [], overflow: 0 });
        expect(complaints).toEqual(
          status === 200 ? [] : [expect.stringContaining(`responded with a status of ${status} `)],
        );
      },
    );
  });

  const hostile = `<img src=x onerror="window.wasRun=1"><script>window.wasRun=1</script>"'&lt;`;

  test('what others wrote is text, and nothing of it runs', async () => {
    const { deps, settings } = service;
    const { id: organizationId } = await service.addOrganization(hostile);
    await createApiKey(deps, { organizationId, environment: 'test', actor: 'test' });
    const person = await addPerson(service, 'owner', organizationId);
    await withClient(settings.DATABASE_URL, (client) =>
      fillLifelikeRefunds(client, {
        organizationId,
        environment: 'test',
        count: 60,
        now: new Date(),
        days: 9,
      }),
    );
    const owner = { organizationId };
    await deps.db.refund.updateMany({ where: owner, data: { metadata: { [hostile]: hostile } } });
    const { id: failedId } = await anyRefund({ ...owner, status: 'failed' });
    const { id: flaggedId } = await anyRefund({ ...owner, flaggedAt: { not: null } });
    await deps.db.refund.update({
      where: { id: failedId },
      data: { failureCode: hostile, failureMessage: hostile },
    });
    await deps.db.refund.update({ where: { id: flaggedId }, data: { flagReason: hostile } });
    const told = { message: hostile, code: hostile };
    const event = {
      seq: 99,
      type: hostile,
      actor: hostile,
      status: 'failed',
      detail: told,
      createdAt: new Date(),
    } as const;
    await deps.db.refundEvent.create({ data: { id: 'evt_hostile', refundId: failedId, ...event } });
    const file = { policies: [{ name: hostile, priority: 1, match: { metadata: { [hostile]: hostile } } }] };
    await setPolicies(deps, { organizationId, file, actor: hostile });
    const page = await browser.open();
    await signInAt(page, person);
    const complaints = noteComplaints(page);
    const own = `/dashboard/${organizationId}/test`;
    const shownOn: Record<string, number> = {
      '': 3,
      '/refunds': 1,
      [`/refunds/${failedId}`]: 8,
      [`/refunds/${flaggedId}`]: 3,
      '/policies': 3,
      '/settings/api-keys': 1,
      '/settings/accounts': 1,
      '/settings/members': 1,
      '/settings/audit-log': 1,
      [`/refunds?q=${encodeURIComponent(hostile)}`]: 1,
    };
    for (const [path, times] of Object.entries(shownOn)) {
      await page.goto(`${own}${path}`, { waitUntil: 'networkidle' });
      const text = (await page.locator('body').textContent()) ?? '';
      expect(text.split('onerror=').length - 1, path).toBeGreaterThanOrEqual(times);
      expect(await page.locator('img, body script').count(), path).toBe(0);
      expect(await overflowOf(page), path).toBe(0);
    }
    expect(await page.evaluate(() => 'wasRun' in window)).toBe(false);
    expect(complaints).toEqual([]);
  });
});
