import type { Page } from 'playwright-core';
import { describe, expect, inject, test } from 'vitest';
import { noteComplaints } from '../../support/dashboard/browser.ts';
import { useDashboardBrowser } from '../../support/dashboard/dashboard-browser.ts';
import { overflowOf, takeScreenshot } from '../../support/dashboard/page-inspection.ts';
import { useService } from '../../support/use-service.ts';

describe.skipIf(inject('chromiumPath') === null)('the API reference in a browser', () => {
  const service = useService({ workers: 0 });
  const browser = useDashboardBrowser(service);
  const phone = { viewport: { width: 375, height: 700 }, isMobile: true, hasTouch: true };

  async function open(path: string): Promise<{ page: Page; complaints: readonly string[]; urls: string[] }> {
    const page = await browser.open(phone);
    const complaints = noteComplaints(page);
    const urls: string[] = [];
    page.on('request', (request) => urls.push(request.url()));
    await page.goto(path);
    await page.locator('.opblock').first().waitFor();
    return { page, complaints, urls };
  }

  test.each(['/docs', '/docs/'])(
    '%s fits a phone, under our name and without a request elsewhere',
    async (path) => {
      const { page, complaints, urls } = await open(path);
      expect(await page.title()).toBe('Refund service API');
      expect(await page.locator('h1').first().textContent()).toContain('Refund service');
      expect(await page.locator('.topbar, img').count()).toBe(0);
      expect(await page.evaluate(() => innerWidth)).toBe(375);
      expect(await overflowOf(page)).toBe(0);
      for (const url of urls)
        expect(url.startsWith(`${browser.origin}/`) || url.startsWith('data:'), url).toBe(true);
      expect(complaints).toEqual([]);
      await page.context().close();
    },
  );

  test('an operation, a webhook and the table of errors fit a phone when they are open', async () => {
    const { page, complaints } = await open('/docs');
    for (const id of ['createRefund', 'listRefunds', 'onRefundCompleted']) {
      await page.locator(`[id$="-${id}"] .opblock-summary-control`).click();
      await page.locator(`[id$="-${id}"] .opblock-body .responses-wrapper`).waitFor();
    }
    await page.locator('.models .json-schema-2020-12-accordion', { hasText: /^Error$/ }).click();
    await page.getByText('The body of every error response.').waitFor();
    expect(await overflowOf(page)).toBe(0);
    await takeScreenshot(page, 'api-reference-phone');
    expect(complaints).toEqual([]);
    await page.context().close();
  });
});
