import { describe, expect, inject, test } from 'vitest';
import { noteComplaints } from '../../support/dashboard/browser.ts';
import { addPerson, signInAt, useDashboardBrowser } from '../../support/dashboard/dashboard-browser.ts';
import { overflowOf, takeScreenshot } from '../../support/dashboard/page-inspection.ts';
import { useService } from '../../support/use-service.ts';

// Pages of libraries. Those of the dashboard have tests of their own.
describe.skipIf(inject('chromiumPath') === null)('in a browser', () => {
  const service = useService({ workers: 0 });
  const browser = useDashboardBrowser(service);

  test('the API reference fits a phone, without a request elsewhere', async () => {
    const page = await browser.open({
      viewport: { width: 375, height: 700 },
      isMobile: true,
      hasTouch: true,
    });
    const complaints = noteComplaints(page);
    const urls: string[] = [];
    page.on('request', (request) => urls.push(request.url()));
    await page.goto('/docs');
    await page.getByText('POST').first().waitFor();
    expect(await page.title()).toBe('Refund service API');
    expect(await overflowOf(page)).toBe(0);
    for (const id of ['refunds/POST/v1/refunds', 'policies/POST/v1/policies/check']) {
      await page.goto(`/docs#tag/${id}`);
      await page.locator(`[id$="${id}"]`).first().waitFor();
    }
    expect(await overflowOf(page)).toBe(0);
    await takeScreenshot(page, 'api-reference-phone');
    expect(urls.filter((url) => !url.startsWith(`${browser.origin}/`) && !url.startsWith('data:'))).toEqual(
      [],
    );
    // The library warns of nullable types, which it shows nevertheless.
    expect(complaints.filter((text) => !/^document validation errors|^\[Object/.test(text))).toEqual([]);
  });

  test('samples of the API reference have what the dashboard shows of a key, until someone enters a key', async () => {
    const page = await browser.open();
    const create = 'tag/refunds/POST/v1/refunds';
    const sample = page.locator(`[id$="${create}"] pre`).first();
    await page.goto(`/docs?key=svc_test_abcdef#${create}`);
    await sample.waitFor();
    expect(await sample.textContent()).toContain('Bearer YOUR_SECRET_TOKEN');
    await page.goto(`/docs?key=svc_test_...CNzG#${create}`);
    await sample.getByText('svc_test_...CNzG').waitFor();
    const hidden = sample.locator('.credential-value');
    const sizeOf = () => hidden.evaluate((element) => getComputedStyle(element).fontSize);
    expect(await sizeOf()).not.toBe('0px');
    await page.evaluate(() => dispatchEvent(new Event('input')));
    expect(await sizeOf()).toBe('0px');
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
