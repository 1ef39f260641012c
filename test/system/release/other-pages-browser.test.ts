import { describe, expect, inject, test } from 'vitest';
import { noteComplaints } from '../../support/dashboard/browser.ts';
import { addPerson, signInAt, useDashboardBrowser } from '../../support/dashboard/dashboard-browser.ts';
import { overflowOf, takeScreenshot } from '../../support/dashboard/page-inspection.ts';
import { useService } from '../../support/use-service.ts';

// Pages of libraries. Those of the dashboard have tests of their own.
describe.skipIf(inject('chromiumPath') === null)('in a browser', () => {
  const service = useService({ workers: 0 });
  const browser = useDashboardBrowser(service);

  test('the API reference fits a phone, open and closed, without a request elsewhere', async () => {
    const page = await browser.open({
      viewport: { width: 375, height: 700 },
      isMobile: true,
      hasTouch: true,
    });
    const complaints = noteComplaints(page);
    const urls: string[] = [];
    page.on('request', (request) => urls.push(request.url()));
    await page.goto('/docs');
    await page.locator('.opblock').first().waitFor();
    expect(await page.title()).toBe('Refund service API');
    expect(await overflowOf(page)).toBe(0);
    for (const id of ['createRefund', 'listRefunds', 'onRefundCompleted']) {
      await page.locator(`[id$="-${id}"] .opblock-summary-control`).click();
      await page.locator(`[id$="-${id}"] .opblock-body .responses-wrapper`).waitFor();
    }
    await page.locator('.models .json-schema-2020-12-accordion', { hasText: /^Error$/ }).click();
    await page.getByText('The body of every error response.').waitFor();
    expect(await overflowOf(page)).toBe(0);
    await takeScreenshot(page, 'api-reference-phone');
    expect(urls.filter((url) => !url.startsWith(`${browser.origin}/`) && !url.startsWith('data:'))).toEqual(
      [],
    );
    expect(complaints).toEqual([]);
  });

  test('the queue board complies with the content policy', async () => {
    const page = await browser.open();
    await signInAt(page, await addPerson(service, 'owner'));
    const complaints = noteComplaints(page);
    for (const [path, shown] of [
      ['', 'refunds-braintree'],
      ['/job-schedulers', 'All queues'],
      ['/queue/refunds-stripe?status=failed', 'refunds-stripe'],
    ]) {
      await page.goto(`/dashboard/queues${path}`, { waitUntil: 'networkidle' });
      await page
        .getByText(shown ?? '')
        .first()
        .waitFor();
    }
    expect(complaints).toEqual([]);
  });
});
