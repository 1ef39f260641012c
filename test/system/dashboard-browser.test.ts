import type { Page } from 'playwright-core';
import { beforeAll, beforeEach, describe, expect, inject, test } from 'vitest';
import { createApiKey } from '#shared/organizations/api-keys.ts';
import { policySchema } from '#shared/policies/policy.ts';
import { listPolicies, setPolicies } from '#shared/policies/stored-policies.ts';
import { createRefund } from '#shared/refunds/lifecycle/create.ts';
import { openEndpointSecrets } from '#shared/webhooks/endpoint-secrets.ts';
import { noteComplaints } from '../support/dashboard/browser.ts';
import { addPerson, signInAt, useDashboardBrowser } from '../support/dashboard/dashboard-browser.ts';
import type { TestPerson } from '../support/people.ts';
import { createdRefund } from '../support/refunds/flagged-refunds.ts';
import { newPayment } from '../support/refunds/payments.ts';
import { rowOf, timelineOf } from '../support/refunds/refund-records.ts';
import { refundRequest } from '../support/refunds/refund-requests.ts';
import { releaseTest } from '../support/release.ts';
import { useService } from '../support/use-service.ts';
import { waitFor } from '../support/wait-for.ts';
import { newEndpoint, storeDelivery } from '../support/webhooks/api-endpoints.ts';

describe.skipIf(inject('chromiumPath') === null)('a member with a browser', () => {
  const service = useService();
  const browser = useDashboardBrowser(service);
  let operator: TestPerson;
  let base: string;
  beforeAll(async () => {
    base = `/dashboard/${service.organization.id}/test`;
    const file = { policies: [{ name: 'Ask', priority: 1, approvalAbove: { api: 5_000, mcp: 1_000 } }] };
    await setPolicies(service.deps, { organizationId: service.organization.id, file, actor: 'test' });
  });
  beforeEach(async () => {
    await service.sandbox.settings({ autoSettleMs: 0, latencyMs: 0 });
    // One person may sign in only ten times a minute.
    operator = await addPerson(service, 'operator');
  });

  async function pageOf(person: TestPerson, path = ''): Promise<Page> {
    const page = await browser.open();
    await signInAt(page, person);
    await page.goto(`${base}${path}`);
    return page;
  }

  const status = (page: Page, words: string) => page.locator('#status .badge', { hasText: words }).waitFor();
  const press = (page: Page, name: string) => page.getByRole('button', { name, exact: true }).click();
  const confirm = (page: Page, name: string) =>
    page.getByRole('dialog').getByRole('button', { name, exact: true }).click();

  /** Marks the page, to notice a reload. */
  const mark = (page: Page) =>
    page.evaluate(() => document.documentElement.setAttribute('data-mark', 'kept'));
  const isMarked = (page: Page) => page.evaluate(() => document.documentElement.hasAttribute('data-mark'));

  /** A refund by an agent that needs approval. */
  async function refundAskedByAgent(amount = 2_500n) {
    const asked = { initiatedBy: 'mcp', amount, metadata: { ticket: 'T-1001' } } as const;
    const { refund } = await createRefund(
      service.deps,
      refundRequest(service, await newPayment(service), asked),
    );
    return refund;
  }

  test('leads from an order number to the cancelled refund in three clicks', async () => {
    await service.sandbox.settings({ autoSettleMs: null });
    const processor = 'braintree';
    const asked = { processor, initiatedBy: 'api', amount: 2_500n, metadata: { order: 'SO-77' } } as const;
    const transactionId = await newPayment(service, { processor });
    const { refund } = await createRefund(service.deps, refundRequest(service, transactionId, asked));
    const page = await pageOf(operator);
    const complaints = noteComplaints(page);
    await page.keyboard.press('/');
    await page.keyboard.type('SO-77');
    await page.keyboard.press('Enter');
    await press(page, 'Cancel refund');
    await confirm(page, 'Cancel refund');
    await status(page, 'Cancelled');
    expect((await rowOf(service, refund.id)).status).toBe('cancelled');
    expect(complaints).toEqual([]);
  });

  releaseTest(
    'creates a key after confirming with the password, without entering the form again',
    async () => {
      const admin = await addPerson(service, 'admin');
      const page = await pageOf(admin);
      await service.deps.db.session.updateMany({ where: { userId: admin.userId }, data: { data: {} } });
      await page.goto(`${base}/settings/api-keys`);
      await page.getByLabel('Name').fill('Shop backend');
      await mark(page);
      await press(page, 'Create test key');
      await page.getByLabel('Your password').fill('not the password');
      await press(page, 'Confirm');
      await page.getByText('The current password is incorrect.').waitFor();
      await page.getByLabel('Your password').fill(admin.password);
      await press(page, 'Confirm');
      await page.getByRole('heading', { name: 'API key created' }).waitFor();
      await page.getByRole('row', { name: 'Shop backend' }).first().waitFor();
      expect(await isMarked(page)).toBe(true);
    },
  );

  releaseTest('copies a secret repeatedly, and by hand where a page may not copy', async () => {
    const page = await pageOf(await addPerson(service, 'admin'), '/settings/api-keys');
    await page.context().grantPermissions(['clipboard-read', 'clipboard-write']);
    await press(page, 'Create test key');
    const copy = page.getByRole('button', { name: 'Copy API key' });
    const secret = page.locator('.secret').filter({ has: copy });
    await copy.click();
    await copy.click();
    await secret.getByRole('status').getByText('Copied', { exact: true }).waitFor();
    expect(await copy.textContent()).toBe('Copy API key');
    await page.waitForFunction(() => document.querySelector('.copy [role="status"]')?.textContent === '');
    expect(await copy.textContent()).toBe('Copy API key');
    // As over plain HTTP.
    await page.evaluate(() => Object.defineProperty(navigator, 'clipboard', { value: undefined }));
    await copy.click();
    await secret.getByRole('status').getByText('Selected. Press Ctrl+C to copy.').waitFor();
    const selected = await page.evaluate(() => getSelection()?.toString());
    expect(selected).toBe(await secret.locator('code').textContent());
  });

  test('stops an agent, whose next request is refused, and resumes it', async () => {
    const { organization } = service;
    const agent = await createApiKey(service.deps, {
      ...{ organizationId: organization.id, environment: 'test', actor: 'test', name: 'Support agent' },
      agentLimits: { currency: 'usd', maxPerDay: 10_000n },
    });
    const body = { transactionId: await newPayment(service), amount: 950, reason: 'other' };
    const { plaintext: key } = agent;
    expect(await service.call('POST', '/v1/refunds', { key, body })).toMatchObject({ status: 200 });
    const page = await pageOf(await addPerson(service, 'admin'), '/settings/api-keys');
    const complaints = noteComplaints(page);
    const row = page.getByRole('row', { name: 'Support agent' });
    await row.getByText('9.50 USD of 100.00 USD in 24 hours').waitFor();
    await row.getByRole('button', { name: 'Stop', exact: true }).click();
    await confirm(page, 'Stop');
    await page.getByText('Agent stopped.').waitFor();
    await row.getByText('Stopped', { exact: true }).waitFor();
    expect(await service.call('GET', '/v1/refunds', { key })).toMatchObject({ status: 403 });
    await press(page, 'Resume');
    await page.getByText('Agent resumed.').waitFor();
    expect(await service.call('GET', '/v1/refunds', { key })).toMatchObject({ status: 200 });
    await row.getByRole('link', { name: 'Refunds' }).click();
    await page.getByText('1 refund', { exact: true }).waitFor();
    expect(complaints).toEqual([]);
  });

  /** An organization with refunds that await approval, in the order of the queue. */
  async function queueOf(name: string, length: number) {
    const own = await service.addOrganization(name);
    const file = { policies: [{ name: 'Ask', priority: 1, approvalAbove: { api: 0 } }] };
    await setPolicies(service.deps, { organizationId: own.id, file, actor: 'test' });
    const ids: string[] = [];
    while (ids.length < length) {
      const transactionId = await newPayment(service);
      const body = { transactionId, amount: 1_000, reason: 'other', processor: 'stripe' };
      const key = own.keys.test.plaintext;
      ids.push((await service.call('POST', '/v1/refunds', { key, body })).body.data.id);
    }
    return { own, ids };
  }

  const shown = async (page: Page, id: string) => {
    await page.getByRole('link', { name: id }).waitFor();
    await page.waitForLoadState();
  };
  /** Lets a second pass on the page, whose clock is installed, once it was on screen. */
  const read = (page: Page) => page.clock.runFor(1_100);

  test('a key decides only about what has been on screen for a second', async () => {
    const { own, ids } = await queueOf('Unread', 2);
    const [first, second] = ids as [string, string];
    const page = await browser.open();
    await signInAt(page, await addPerson(service, 'operator', own.id));
    const now = new Date();
    await page.clock.install({ time: now });
    await page.clock.pauseAt(new Date(now.getTime() + 60_000));
    const decisions: string[] = [];
    page.on('request', (request) => request.method() === 'POST' && decisions.push(request.url()));
    await page.goto(`/dashboard/${own.id}/test/approvals`);
    await shown(page, first);
    await read(page);
    await page.keyboard.press('a');
    await shown(page, second);
    await page.clock.runFor(900);
    await page.keyboard.press('a');
    // A key that only leads elsewhere works at once, and after the one that was ignored.
    await page.keyboard.press('/');
    await page.getByRole('dialog').waitFor();
    expect(decisions).toEqual([expect.stringContaining(`${first}/approve`)]);
    expect((await rowOf(service, second)).status).toBe('pending');
    await page.keyboard.press('Escape');
    await page.getByRole('dialog').waitFor({ state: 'hidden' });
    await read(page);
    await page.keyboard.press('a');
    await page.getByText('Nothing awaits approval').waitFor();
  });

  test('decides ten approvals in a row by keyboard with one confirmation', async () => {
    const { own, ids } = await queueOf('Keyboard', 10);
    const person = await addPerson(service, 'operator', own.id);
    const page = await browser.open();
    await signInAt(page, person);
    await page.clock.install();
    const complaints = noteComplaints(page);
    await service.deps.db.session.updateMany({ where: { userId: person.userId }, data: { data: {} } });
    await page.goto(`/dashboard/${own.id}/test/approvals`);
    const [rejected, skipped, ...others] = ids as [string, string, ...string[]];
    await shown(page, rejected);
    await page.keyboard.press('r');
    await page.keyboard.type('An exchange, jan');
    await page.keyboard.press('Enter');
    await shown(page, skipped);
    await page.keyboard.press('n');
    for (const [index, id] of [...others, skipped].entries()) {
      if (id === skipped) await page.getByRole('link', { name: 'Start again' }).click();
      await shown(page, id);
      await read(page);
      await page.keyboard.press('a');
      if (index > 0) continue;
      await page.getByLabel('Your password').fill(person.password);
      await page.keyboard.press('Enter');
    }
    await page.getByText('Nothing awaits approval').waitFor();
    for (const id of ids) {
      expect((await rowOf(service, id)).status === 'cancelled', id).toBe(id === rejected);
    }
    expect(complaints.filter((each) => !each.includes('403'))).toEqual([]);
  });

  test('undoes a refund that is held, and the processor never gets it', async () => {
    const held = { policies: [{ name: 'Hold', priority: 1, holdSeconds: { dashboard: 3_600 } }] };
    const organizationId = service.organization.id;
    const before = {
      policies: (await listPolicies(service.deps.db, organizationId)).map((each) =>
        policySchema.encode(each),
      ),
    };
    await setPolicies(service.deps, { organizationId, file: held, actor: 'test' });
    const asked = refundRequest(service, await newPayment(service), { initiatedBy: 'dashboard' });
    const { refund } = await createRefund(service.deps, asked);
    await setPolicies(service.deps, { organizationId, file: before, actor: 'test' });
    const page = await pageOf(operator, `/refunds/${refund.id}`);
    await page.getByText(/Held by a policy\. Sent to Stripe in /).waitFor();
    await press(page, 'Undo');
    await page.getByText('Refund cancelled.').waitFor();
    expect(await service.sandbox.refunds({ transactionId: refund.transactionId })).toEqual([]);
    expect(await timelineOf(service, refund.id)).toEqual(['refund.created', 'refund.cancelled']);
  });

  releaseTest(
    'sees the current text when a dialog opens, which does not change while it is open',
    async () => {
      await service.sandbox.settings({ autoSettleMs: null });
      const transactionId = await newPayment(service, { processor: 'braintree', status: 'settled' });
      const { id } = await createdRefund(service, 'braintree', { transactionId });
      const page = await pageOf(operator, `/refunds/${id}`);
      await page.getByText('Accepted by the processor').first().waitFor();
      // The text of a page that was opened before the refund was sent.
      const makeStale = () =>
        page.evaluate(() => {
          const words = document.querySelector('#cancel p');
          if (words !== null)
            words.textContent = 'If the refund has not been sent, it is cancelled immediately.';
        });
      const words = page.locator('#cancel p');
      const refreshed = () => page.waitForResponse((answer) => answer.url().endsWith(`/refunds/${id}`));
      await makeStale();
      await words
        .filter({ hasText: 'Braintree has already received the refund' })
        .waitFor({ state: 'attached' });
      await press(page, 'Cancel refund');
      await makeStale();
      await refreshed();
      await refreshed();
      expect(await words.textContent()).toContain('If the refund has not been sent');
      expect(await page.getByRole('dialog').count()).toBe(1);
    },
  );

  test('creates a refund after a check of the payment and the policy, and sees it complete', async () => {
    const transactionId = await newPayment(service);
    const page = await pageOf(operator, '/refunds');
    await page.getByRole('link', { name: 'Create refund' }).first().click();
    await page.getByLabel('Payment ID').fill(transactionId);
    await page.getByLabel('Amount').fill('12.34');
    await page.getByLabel('Reason').selectOption('Product defective');
    await press(page, 'Review');
    await page.getByText('Allowed by policy', { exact: true }).waitFor();
    await page.getByRole('region', { name: 'Payment' }).getByText(transactionId).waitFor();
    expect(await page.getByText('Still refundable').count()).toBe(1);
    expect(await service.deps.db.refund.count({ where: { transactionId } })).toBe(0);
    // Two clicks must create one refund.
    await page.getByRole('button', { name: 'Refund 12.34 USD' }).dblclick();
    await page.getByText('Refund created.').waitFor();
    await mark(page);
    await status(page, 'Completed');
    expect(await isMarked(page)).toBe(true);
    const [refund, ...others] = await service.deps.db.refund.findMany({ where: { transactionId } });
    expect(others).toEqual([]);
    expect(refund).toMatchObject({ amount: 1_234n, initiatedBy: 'dashboard', reason: 'product_defective' });
  });

  test('rotates a webhook secret and sends a delivery again', async () => {
    const { id, secret } = await newEndpoint(service);
    await storeDelivery(service, id);
    const page = await pageOf(await addPerson(service, 'admin'), '/webhooks');
    const complaints = noteComplaints(page);
    await page.getByRole('link', { name: 'http://127.0.0.1:9/hooks' }).click();
    await press(page, 'Rotate secret');
    await page.getByRole('heading', { name: 'Secret rotated' }).waitFor();
    const shown = await page.locator('.secret code').textContent();
    expect(shown).toMatch(/^whsec_/);
    expect(shown).not.toBe(secret);
    // The earlier one still signs.
    const endpoint = await service.deps.db.webhookEndpoint.findUniqueOrThrow({ where: { id } });
    const valid = openEndpointSecrets(service.deps.secrets, endpoint, service.deps.clock.now());
    expect(valid).toEqual([shown, secret]);
    await press(page, 'Resend');
    await page.getByText('Resend requested.').waitFor();
    await waitFor('the attempt', async () => {
      await page.reload();
      return await page.getByText('No connection could be made to the endpoint.').count();
    });
    expect(complaints).toEqual([]);
  });

  releaseTest('opens, searches and approves refunds with the keyboard', async () => {
    const refund = await refundAskedByAgent();
    const page = await browser.open();
    const { keyboard } = page;
    await page.goto('/dashboard/sign-in');
    await keyboard.press('Tab');
    await keyboard.type(operator.email);
    await keyboard.press('Tab');
    await keyboard.type(operator.password);
    await keyboard.press('Enter');
    await page.getByRole('heading', { name: 'Overview' }).waitFor();
    const goTo = async (role: 'link' | 'button', name: string) => {
      const wanted = page.getByRole(role, { name, exact: true }).first();
      for (let step = 0; step < 40; step += 1) {
        if (await wanted.evaluate((element) => element === document.activeElement)) return;
        await keyboard.press('Tab');
      }
      throw new Error(`40 steps did not lead to ${name}`);
    };
    await goTo('link', 'Refunds');
    await keyboard.press('Enter');
    await page.getByRole('heading', { name: 'Refunds' }).waitFor();
    await keyboard.press('/');
    await keyboard.type(refund.id);
    await page.getByRole('dialog').getByRole('link', { name: refund.id }).waitFor();
    await keyboard.press('ArrowDown');
    await keyboard.press('Enter');
    await page.getByRole('heading', { name: 'Timeline' }).waitFor();
    await goTo('button', 'Approve');
    await keyboard.press('Enter');
    await page.getByRole('dialog').waitFor();
    // Escape leaves the dialog without doing it.
    await keyboard.press('Escape');
    expect((await rowOf(service, refund.id)).status).toBe('pending');
    await keyboard.press('Enter');
    await page.getByRole('dialog').waitFor();
    await keyboard.press('Enter');
    await status(page, 'Completed');
  });

  releaseTest('signs in, searches and reads without scripts', async () => {
    const { id } = await createdRefund(service, 'stripe');
    const page = await browser.open({ javaScriptEnabled: false });
    await signInAt(page, operator);
    await page.getByRole('link', { name: 'Refunds', exact: true }).click();
    await page.getByRole('button', { name: 'Search' }).click();
    const field = page.getByRole('searchbox', { name: 'Search refunds' });
    await field.fill(id);
    await field.press('Enter');
    await page.getByRole('heading', { name: 'Timeline' }).waitFor();
    expect(await page.locator('time').first().textContent()).toMatch(/^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d UTC$/);
  });
});
