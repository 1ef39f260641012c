import type { BrowserContextOptions, Page } from 'playwright-core';
import { beforeAll, beforeEach, describe, expect, inject, test } from 'vitest';
import { listPolicies, setPolicies } from '../../shared/policies/stored-policies.ts';
import { noteComplaints } from '../support/dashboard/browser.ts';
import { addPerson, signInAt, useDashboardBrowser } from '../support/dashboard/dashboard-browser.ts';
import type { TestPerson } from '../support/people.ts';
import { newPayment } from '../support/refunds/payments.ts';
import { useService } from '../support/use-service.ts';

describe.skipIf(inject('chromiumPath') === null)('an admin with a browser', () => {
  const service = useService();
  const browser = useDashboardBrowser(service);
  let admin: TestPerson;
  let base: string;

  beforeAll(async () => {
    admin = await addPerson(service, 'admin');
    base = `/dashboard/${service.organization.id}/test`;
  });
  beforeEach(async () => {
    const policies = [
      { name: 'Dollars', priority: 10, match: { currencies: ['usd'] }, windowDays: 30 },
      { name: 'Everything else', priority: 20 },
    ];
    const request = { organizationId: service.organization.id, file: { policies }, actor: 'test' };
    await setPolicies(service.deps, request);
  });

  async function openPolicies(options: BrowserContextOptions = {}): Promise<Page> {
    const page = await browser.open(options);
    await signInAt(page, admin);
    await page.goto(`${base}/policies`);
    return page;
  }

  const press = (page: Page, name: string) => page.getByRole('button', { name, exact: true }).click();
  const policy = (page: Page, name: string) => page.getByRole('region', { name });
  const names = async () =>
    (await listPolicies(service.deps.db, service.organization.id)).map(({ name }) => name);
  const titles = async (page: Page) =>
    (await page.locator('h3').allTextContents()).map((title) => title.replace(/^\d+\. /, ''));

  async function askForRefund(amount: number) {
    const transactionId = await newPayment(service, { processor: 'stripe' });
    const body = { transactionId, amount, reason: 'other' };
    const { status, body: answer } = await service.call('POST', '/v1/refunds', { body });
    expect(status).toBe(200);
    return answer.data as { id: string; status: string };
  }

  async function letHold(page: Page): Promise<void> {
    await press(page, 'Save the policies');
    await page.getByRole('dialog').getByRole('button', { name: 'Save the policies' }).click();
    await page.getByText('The policies hold from now on').waitFor();
  }

  test('writes a threshold in the form, sees what it would have said, saves it, and the next refund waits', async () => {
    const before = await askForRefund(2_500);
    expect(before.status).not.toBe('pending');
    const page = await openPolicies();
    const complaints = noteComplaints(page);
    await page.locator('summary', { hasText: 'Edit Dollars' }).click();
    await policy(page, 'Dollars').getByLabel('Over the API, above (USD)').fill('20.00');
    await press(page, 'Preview');
    await page.getByText('the API above 20.00 USD').waitFor();
    const row = page.getByRole('row').filter({ has: page.locator(`a[href$="${before.id}"]`) });
    expect(await row.locator('.badge').allTextContents()).toEqual(['Allowed', 'Asks a person']);
    expect((await askForRefund(2_500)).status).not.toBe('pending');
    await letHold(page);
    expect((await askForRefund(2_500)).status).toBe('pending');
    expect((await askForRefund(2_000)).status).not.toBe('pending');
    expect(complaints).toEqual([]);
  });

  test('adds, moves and removes policies by the keyboard, without the page being loaded anew', async () => {
    const page = await openPolicies();
    const complaints = noteComplaints(page);
    await page.evaluate(() => document.documentElement.setAttribute('data-mark', 'kept'));
    const focused = () =>
      page.evaluate(() => document.activeElement?.textContent || document.activeElement?.id);
    await page.getByRole('button', { name: 'Add a policy' }).focus();
    await page.keyboard.press('Enter');
    await policy(page, 'New policy').waitFor();
    expect(await focused()).toBe('policies.0.name');
    await page.keyboard.type('Gift cards');
    await page.getByRole('button', { name: 'Move down New policy' }).focus();
    await page.keyboard.press('Enter');
    await policy(page, '2. Gift cards').waitFor();
    expect(await titles(page)).toEqual(['Dollars', 'Gift cards', 'Everything else']);
    expect(await focused()).toBe('Move down Gift cards');
    await page.keyboard.press('Enter');
    await policy(page, '3. Gift cards').waitFor();
    expect(await focused()).toBe('Move up Gift cards');
    await page.getByRole('button', { name: 'Remove Dollars' }).focus();
    await page.keyboard.press('Enter');
    await page.getByText('No longer there once you confirm: Dollars.').waitFor();
    expect(await page.evaluate(() => document.documentElement.hasAttribute('data-mark'))).toBe(true);
    expect(await names()).toEqual(['Dollars', 'Everything else']);
    // Enter in a field goes on to the preview, and to no other button.
    await policy(page, 'Gift cards').getByLabel('Refund window (days)').press('Enter');
    await page.getByText('Removed: Dollars').first().waitFor();
    await letHold(page);
    expect(await names()).toEqual(['Everything else', 'Gift cards']);
    expect(complaints).toEqual([]);
  });

  test('does all of it without scripts', async () => {
    const page = await openPolicies({ javaScriptEnabled: false });
    await press(page, 'Add a policy');
    await policy(page, 'New policy').getByLabel('Name', { exact: true }).fill('Gift cards');
    await policy(page, 'New policy').getByLabel('Metadata 1: name').fill('category');
    await policy(page, 'New policy').getByLabel('Metadata 1: value').fill('gift_card');
    await press(page, 'Move down New policy');
    await press(page, 'Remove Everything else');
    await press(page, 'Preview');
    await page.getByText('category is gift_card').waitFor();
    await press(page, 'Go on editing');
    expect(await titles(page)).toEqual(['Dollars', 'Gift cards']);
    // The dialog in which it is confirmed is opened by the browser itself.
    await press(page, 'Preview');
    await letHold(page);
    expect(await names()).toEqual(['Dollars', 'Gift cards']);
  });

  test('keeps what was entered when a step is refused, and is told why', async () => {
    const page = await openPolicies();
    await page.locator('summary', { hasText: 'Edit Dollars' }).click();
    const field = policy(page, 'Dollars').getByLabel('Refund window (days)');
    await field.fill('14');
    const membership = { userId: admin.userId, organizationId: service.organization.id };
    const as = (role: 'viewer' | 'admin') =>
      service.deps.db.membership.updateMany({ where: membership, data: { role } });
    await as('viewer');
    await press(page, 'Add a policy');
    await page.getByText('This requires the role admin').waitFor();
    expect(await field.inputValue()).toBe('14');
    await as('admin');
    await press(page, 'Add a policy');
    await policy(page, 'New policy').waitFor();
    expect(await field.inputValue()).toBe('14');
    expect(await page.getByText('This requires the role admin').count()).toBe(0);
  });

  test('is led to the field that has to be mended', async () => {
    const page = await openPolicies();
    await page.locator('summary', { hasText: 'Edit Everything else' }).click();
    await policy(page, 'Everything else').getByLabel('At most of a payment (%)').fill('half');
    await press(page, 'Preview');
    await page.getByText('Must be a whole number of percent from 1 to 100.').waitFor();
    const field = policy(page, 'Everything else').getByLabel('At most of a payment (%)');
    expect(await field.inputValue()).toBe('half');
    expect(await field.evaluate((input) => input === document.activeElement)).toBe(true);
  });
});
