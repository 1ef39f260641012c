import type { Page } from 'playwright-core';
import { newLinkToken } from '#shared/notifications/links.ts';
import type { Prisma, Refund } from '#shared/platform/database.ts';
import { findAccount } from '#shared/processors/accounts/account.ts';
import { refundStatuses } from '#shared/refunds/model/states.ts';
import { newPayment } from '../refunds/payments.ts';
import { unknownRefundId } from '../refunds/refund-records.ts';
import type { TestService } from '../service.ts';
import { waitFor } from '../wait-for.ts';
import { addPerson } from './dashboard-browser.ts';
import type { DashboardStage, Visitor } from './dashboard-stage.ts';

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

type Steps = (page: Page) => Promise<unknown>;
type Path = string | (() => string | Promise<string>);

/** Every page of the dashboard, in each state that looks different. */
export function visitsOf(service: TestService, stage: DashboardStage): Record<string, Visit> {
  /** @param path of the page, below the environment unless it begins with /dashboard. */
  const open = (path: Path, options: Omit<Visit, 'arrive'> = {}, act?: Steps): Visit => ({
    ...options,
    arrive: async (page) => {
      const at = typeof path === 'string' ? path : await path();
      const base = options.as === 'newcomer' ? stage.emptyBase : stage.base;
      await page.goto(at.startsWith('/dashboard') ? at : `${base}${at}`);
      await act?.(page);
    },
  });
  const press = (page: Page, name: string, exact = false) =>
    page.getByRole('button', { name, exact }).first().click();
  const pressIn = (page: Page, name: string) =>
    page.getByRole('dialog').getByRole('button', { name }).click();
  const dialog = (page: Page) => page.getByRole('dialog').waitFor();
  const problem = (page: Page) => page.locator('.problem').waitFor();
  const heading = (page: Page, name: string) => page.getByRole('heading', { name }).waitFor();
  const opens =
    (button: string, exact = false): Steps =>
    async (page) => {
      await press(page, button, exact);
      await dialog(page);
    };
  const shows =
    (button: string, title: string): Steps =>
    async (page) => {
      await press(page, button);
      await heading(page, title);
    };
  const refund = (where: Prisma.RefundWhereInput) => async () =>
    `/refunds/${(await anyRefund(service, where)).id}`;
  const stripe = (page: string) => async () => {
    const owner = { organizationId: service.organization.id, environment: 'test' } as const;
    const { id } = await findAccount(service.deps.db, { ...owner, processor: 'stripe' });
    return `/settings/accounts/${id}${page}`;
  };

  const visitor = { as: 'visitor' } as const;
  const newcomer = { as: 'newcomer' } as const;
  const viewer = { as: 'viewer' } as const;

  const signIn = async (page: Page, email: string, password: string) => {
    await page.getByLabel('Email address').fill(email);
    await page.getByLabel('Password').fill(password);
    await press(page, 'Sign in');
  };

  const enterRefund =
    (amount: string, seen: Steps): Steps =>
    async (page) => {
      await page.getByLabel('Payment ID').fill(await newPayment(service));
      await page.getByLabel('Amount').fill(amount);
      await page.getByLabel('Reason').selectOption('product_defective');
      await page.getByLabel('Metadata').fill('{"ticket": "T-1001"}');
      await press(page, 'Review');
      await seen(page);
    };

  const uploadBatch =
    (rows: string, seen: Steps): Steps =>
    async (page) => {
      const buffer = Buffer.from(`transactionId,amount,reason\n${rows}`);
      const file = { name: 'refunds.csv', mimeType: 'text/csv', buffer };
      await page.getByLabel('File', { exact: true }).setInputFiles(file);
      await press(page, 'Review');
      await seen(page);
    };

  /** Reviews a batch with rows of every kind. */
  const reviewBatch =
    (seen: Steps): Steps =>
    async (page) => {
      const [exact, rest] = [await newPayment(service), await newPayment(service)];
      const rows = [
        `${exact},25.00,other`,
        `${rest},,wrong_product`,
        `${exact},abc,other`,
        `${exact},900.00,other`,
      ];
      await uploadBatch(rows.join('\n'), (shown) => heading(shown, 'Review batch'))(page);
      await seen(page);
    };

  /** Gives a user a second factor while a page is opened. */
  const withSecondFactor = async (userId: string, act: () => Promise<unknown>) => {
    const factor = { userId, lastStep: 0, enabledAt: new Date(), encryptionKeyId: 'none' };
    await service.deps.db.secondFactor.create({ data: { ...factor, encryptedSecret: new Uint8Array() } });
    await act();
    await service.deps.db.secondFactor.delete({ where: { userId } });
  };

  const enterWindow =
    (days: string, act: Steps): Steps =>
    async (page) => {
      await page.getByLabel('Refund window (days)').fill(days);
      await act(page);
    };
  const electronics = '/policies/edit?name=Electronics';
  const flagged = { work: { flaggedAt: { not: null } } };

  return {
    'sign-in': open('/dashboard/sign-in', visitor),
    'sign-in-refused': open('/dashboard/sign-in', { ...visitor, status: 401 }, async (page) => {
      await signIn(page, 'nobody@example.com', 'not the password');
      await page.getByRole('alert').waitFor();
    }),
    'set-up': open('/dashboard/set-up', { as: 'first' }),
    invitation: open(() => `/dashboard/invitation/${stage.invitation}`, visitor),
    'invitation-over': open('/dashboard/invitation/inv_none', { ...visitor, status: 404 }),
    'password-reset': open('/dashboard/password-reset', visitor),
    'new-password': open(async () => {
      const { userId: target } = await addPerson(service, 'viewer');
      return `/dashboard/password-reset/${await newLinkToken(service.deps.db, { kind: 'password_reset', target })}`;
    }, visitor),
    'new-password-over': open('/dashboard/password-reset/reset_none', { ...visitor, status: 404 }),
    organizations: open('/dashboard', viewer),
    you: open('/dashboard/you'),
    'sign-in-code': open('/dashboard/sign-in', visitor, async (page) => {
      const { userId, email, password } = await addPerson(service, 'viewer');
      await withSecondFactor(userId, async () => {
        await signIn(page, email, password);
        await heading(page, 'Enter your code');
      });
    }),
    'second-factor-set-up': open('/dashboard/you', {}, async (page) => {
      await press(page, 'Set up');
      await page.getByRole('img', { name: 'QR code' }).waitFor();
    }),
    'recovery-codes': {
      ...newcomer,
      arrive: async (page) => {
        const { userId } = await service.deps.db.membership.findFirstOrThrow({
          where: { organizationId: stage.emptyBase.split('/')[2] ?? '', role: 'owner' },
        });
        await withSecondFactor(userId, async () => {
          await page.goto('/dashboard/you');
          await shows('New recovery codes', 'New recovery codes')(page);
        });
      },
    },
    confirmation: open(
      async () => {
        // No session of a viewer is confirmed any more.
        const isViewer = { memberships: { every: { role: 'viewer' as const } } };
        await service.deps.db.session.updateMany({ where: { user: isViewer }, data: { data: {} } });
        return '/dashboard/you';
      },
      { ...viewer, status: 403 },
      async (page) => {
        await press(page, 'Set up');
        await page.getByLabel('Your password').waitFor();
      },
    ),
    overview: open('?days=90'),
    'overview-empty': open('', newcomer),
    'overview-one-day': open('?days=1'),
    search: open('/search?q=ch_3'),
    'search-dialog': open('/policies', {}, async (page) => {
      await page.keyboard.press('Control+k');
      await page.keyboard.type('19.00');
      await page.locator('dialog .hits a').first().waitFor();
    }),
    health: open('/health'),
    'processor-events': open(async () => {
      const account = await service.deps.db.processorAccount.findFirstOrThrow({
        where: { organizationId: service.organization.id, environment: 'test', processor: 'stripe' },
      });
      const { id: refundId } = await anyRefund(service, { status: 'completed' });
      const event = { accountId: account.id, type: 'refund.updated', receivedAt: new Date(0) };
      const own = {
        externalEventId: 'evt_1',
        refundId,
        externalRefundId: 're_1',
        processorStatus: 'succeeded',
      };
      const foreign = { externalEventId: 'evt_2', externalRefundId: 're_elsewhere' };
      const data = [own, foreign].map((each) => ({ ...event, ...each }));
      await service.deps.db.processorEvent.createMany({ data, skipDuplicates: true });
      return '/processor-events';
    }),
    'processor-events-not-found': open('/processor-events?id=evt_none'),
    reconciliation: open('/reconciliation'),
    refunds: open('/refunds'),
    'refunds-filtered': open('/refunds?status=failed&currency=eur&from=2020-01-01'),
    'refunds-selected': open('/refunds?needsAttention=true&select=all', {}, opens('Decide')),
    'refunds-decided': open('/refunds?status=pending&select=all', {}, async (page) => {
      await press(page, 'Decide');
      await page.getByLabel('Recheck').check();
      await pressIn(page, 'Decide');
      await heading(page, 'Results');
    }),
    'refunds-to-approve': open('/refunds?status=pending&select=all', {}, async (page) => {
      await press(page, 'Decide');
      await page.getByRole('radio', { name: 'Approve' }).check();
      await pressIn(page, 'Decide');
      await heading(page, 'Approve refunds');
    }),
    'refunds-not-found': open('/refunds?q=re_nobody'),
    'refunds-bad-filter': open('/refunds?from=2026-02-01&to=2026-01-01', { status: 400 }),
    approvals: open('/approvals'),
    'approvals-for-a-viewer': open('/approvals', viewer),
    'approvals-reject': open('/approvals', {}, async (page) => {
      await page.keyboard.press('r');
      await dialog(page);
    }),
    'approvals-none': open('/approvals', newcomer),
    'refunds-empty': open('/refunds', newcomer),
    ...Object.fromEntries(
      refundStatuses.map((status) => [
        `refund-${status}`,
        open(refund({ status, OR: [{ work: null }, { work: { flaggedAt: null } }] })),
      ]),
    ),
    'refund-flagged': open(refund({ status: 'processing', ...flagged })),
    // A person cannot approve what they have requested.
    'refund-approve': open(
      refund({ status: 'pending', initiatedBy: { not: 'dashboard' } }),
      {},
      opens('Approve', true),
    ),
    'refund-reject': open(refund({ status: 'pending' }), {}, opens('Reject', true)),
    'refund-decide': open(refund(flagged), {}, opens('Resolve', true)),
    'refund-reject-unfinished': open(refund({ status: 'pending' }), { status: 400 }, async (page) => {
      await opens('Reject', true)(page);
      await page.getByLabel('Reason').fill('   ');
      await pressIn(page, 'Reject');
      await problem(page);
    }),
    payment: open(async () => `/payments/${await newPayment(service)}`),
    'payment-refunded': open(
      async () => `/payments/${(await anyRefund(service, { processor: 'stripe' })).transactionId}`,
    ),
    'payment-missing': open('/payments/ch_missing1', { status: 404 }),
    'refund-new': open('/refunds/new'),
    'refund-new-problem': open('/refunds/new', { status: 400 }, enterRefund('1000', problem)),
    'refund-new-confirm': open(
      '/refunds/new',
      {},
      enterRefund('25.00', (page) => heading(page, 'Review refund')),
    ),
    batches: open('/batches'),
    'batch-new': open('/batches/new'),
    'batch-refused': open('/batches/new', { status: 400 }, uploadBatch('ch_1,1', problem)),
    'batch-question': open(
      '/batches/new',
      {},
      uploadBatch('ch_1,42,other', (page) => heading(page, 'Amounts without decimals')),
    ),
    'batch-review': open(
      '/batches/new',
      {},
      reviewBatch(async () => {}),
    ),
    batch: open(
      '/batches/new',
      {},
      reviewBatch(async (page) => {
        await press(page, 'Create 2 test refunds');
        await heading(page, 'Progress');
      }),
    ),
    policies: open('/policies'),
    'policies-viewer': open('/policies', viewer),
    'policies-new': open('/policies/new'),
    'policies-add': open('/policies/new', {}, async (page) => {
      await page.getByText('Add a limit').click();
      await page.getByText('Refund window', { exact: true }).click();
    }),
    'policies-edit': open(electronics),
    'policies-problem': open(
      electronics,
      { status: 400 },
      enterWindow('a month', async (page) => {
        await press(page, 'Save');
        await problem(page);
      }),
    ),
    'policies-replay': open('/policies/edit?name=Everything+else&block=api', {}, (page) =>
      heading(page, 'Replay of the last 90 days, test'),
    ),
    'policies-delete': open('/policies', {}, opens('Delete')),
    webhooks: open('/webhooks'),
    'webhooks-empty': open('/webhooks', newcomer),
    'webhook-endpoint': open(() => stage.delivery.split('/deliveries')[0] ?? ''),
    'webhook-delivery': open(() => stage.delivery),
    'settings-api-keys': open('/settings/api-keys'),
    'settings-api-keys-empty': open('/settings/api-keys', newcomer),
    'settings-api-key-created': open('/settings/api-keys', {}, shows('Create test key', 'API key created')),
    'settings-agent-key-new': open('/settings/api-keys/agent'),
    'settings-agent-key-created': open('/settings/api-keys/agent', {}, async (page) => {
      await page.getByLabel('Currency').fill('USD');
      await shows('Create test key', 'Agent key created')(page);
    }),
    'settings-accounts': open('/settings/accounts'),
    'settings-account': open(stripe('')),
    'settings-account-tested': open(stripe(''), {}, async (page) => {
      await press(page, 'Test connection');
      await page.getByText('Stripe accepts the credentials').waitFor();
    }),
    'settings-accounts-empty': open('/settings/accounts', newcomer),
    'settings-new-stripe': open('/settings/accounts/new/stripe'),
    'settings-new-braintree': open('/settings/accounts/new/braintree'),
    'settings-credentials': open(stripe('/credentials')),
    'settings-sent-metadata': open(stripe('/metadata')),
    'failed-requests': open('/failed-requests'),
    'failed-request': open(async () => {
      const { headers } = await service.call('GET', '/v1/refunds?limit=0');
      const id = String(headers['x-request-id']);
      await waitFor('its record', () => service.deps.db.failedRequest.findUnique({ where: { id } }));
      return `/failed-requests/${id}`;
    }),
    'settings-customer-texts': open('/settings/customer-texts'),
    'settings-notifications': open('/settings/notifications', {}, async (page) => {
      await page.getByLabel('Webhook URL').fill('https://hooks.example.com/services/1');
      await press(page, 'Save');
      await page.getByRole('button', { name: 'Send a test' }).waitFor();
    }),
    'settings-sign-in': open('/settings/company-sign-in'),
    'settings-members': open('/settings/members'),
    'settings-invited': open('/settings/members', {}, async (page) => {
      await page.getByLabel('Email address').fill('another.new.colleague@example.com');
      await shows('Create invite link', 'Invite link created')(page);
    }),
    'settings-audit-log': open('/settings/audit-log'),
    'settings-audit-log-bad-range': open('/settings/audit-log?from=2026-02-02&to=2026-02-01', {
      status: 400,
    }),
    'error-403': open('/settings/audit-log', { ...viewer, status: 403 }),
    'error-404': open(`/refunds/${unknownRefundId}`, { status: 404 }),
  };
}
