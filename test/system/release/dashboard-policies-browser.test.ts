import type { BrowserContextOptions, Page } from 'playwright-core';
import { beforeAll, beforeEach, describe, expect, inject, test } from 'vitest';
import { listPolicies, setPolicies } from '#shared/policies/stored-policies.ts';
import { noteComplaints } from '../../support/dashboard/browser.ts';
import { addPerson, signInAt, useDashboardBrowser } from '../../support/dashboard/dashboard-browser.ts';
import type { TestPerson } from '../../support/people.ts';
import { newPayment } from '../../support/refunds/payments.ts';
import { useService } from '../../support/use-service.ts';

describe.skipIf(inject('chromiumPath') === null)('an admin in a browser', () => {
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
    const organizationId = service.organization.id;
    await setPolicies(service.deps, { organizationId, file: { policies }, actor: 'test' });
  });

  async function openPolicies(options: BrowserContextOptions = {}): Promise<Page> {
    const page = await browser.open(options);
    await signInAt(page, admin);
    await page.goto(`${base}/policies`);
    return page;
  }

  const press = (page: Page, name: string) => page.getByRole('button', { name, exact: true }).click();
  const edit = (page: Page, name: string) => page.getByRole('link', { name: `Edit ${name}` }).click();
  const saved = (page: Page) => page.getByText('Policies saved.').waitFor();
  const names = async () =>
    (await listPolicies(service.deps.db, service.organization.id)).map(({ name }) => name);

  async function createRefund(amount: number) {
    const transactionId = await newPayment(service, { processor: 'stripe' });
    const body = { transactionId, amount, reason: 'other' };
    const { status, body: answer } = await service.call('POST', '/v1/refunds', { body });
    expect(status).toBe(200);
    return answer.data as { id: string; status: string };
  }

  test('previews a threshold and saves it, and the next refund awaits approval', async () => {
    const before = await createRefund(2_500);
    const page = await openPolicies();
    const complaints = noteComplaints(page);
    await edit(page, 'Dollars');
    const approval = page.getByRole('group', { name: 'Approval', exact: true });
    await approval.getByLabel('API, above (USD)').fill('20.00');
    await press(page, 'Preview');
    const row = page.getByRole('row').filter({ has: page.locator(`a[href$="${before.id}"]`) });
    await row.waitFor();
    expect(await row.locator('.badge').allTextContents()).toEqual(['Allowed', 'Requires approval']);
    expect((await createRefund(2_500)).status).not.toBe('pending');
    await press(page, 'Save');
    await saved(page);
    expect((await createRefund(2_500)).status).toBe('pending');
    expect((await createRefund(2_000)).status).not.toBe('pending');
    expect(complaints).toEqual([]);
  });

  test.each([true, false])('adds, edits and deletes policies with scripts: %s', async (javaScriptEnabled) => {
    const page = await openPolicies({ javaScriptEnabled });
    const complaints = noteComplaints(page);
    await page.getByRole('link', { name: 'Add policy' }).click();
    await page.getByLabel('Name', { exact: true }).fill('Gift cards');
    await page.getByLabel('Metadata (JSON)').fill('{"category": "gift_card"}');
    await press(page, 'Save');
    await page.getByText('category is gift_card').waitFor();
    expect(await names()).toEqual(['Gift cards', 'Dollars', 'Everything else']);
    await edit(page, 'Gift cards');
    await page.getByLabel('Priority').fill('15');
    await page.getByLabel('Priority').press('Enter');
    await saved(page);
    expect(await names()).toEqual(['Dollars', 'Gift cards', 'Everything else']);
    const card = page.getByRole('listitem').filter({ hasText: 'Everything else' });
    await card.getByRole('button', { name: 'Delete' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Delete' }).click();
    await saved(page);
    expect(await names()).toEqual(['Dollars', 'Gift cards']);
    expect(complaints).toEqual([]);
  });

  test('is taken to the field to fix, with what was entered', async () => {
    const page = await openPolicies();
    await edit(page, 'Everything else');
    const field = page.getByLabel('Maximum share of a payment (%)');
    await field.fill('half');
    await press(page, 'Save');
    await page.getByText('Must be a whole number of percent from 1 to 100.').waitFor();
    expect(await field.inputValue()).toBe('half');
    expect(await field.evaluate((input) => input === document.activeElement)).toBe(true);
  });
});
