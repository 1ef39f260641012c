import type { Page } from 'playwright-core';
import { describe, expect, inject, test } from 'vitest';
import { createApiKey } from '#shared/organizations/api-keys.ts';
import { setPolicies } from '#shared/policies/stored-policies.ts';
import { noteComplaints } from '../support/dashboard/browser.ts';
import { addPerson, signInAt, useDashboardBrowser } from '../support/dashboard/dashboard-browser.ts';
import { type Device, devices, fillWithRefunds, setStage } from '../support/dashboard/dashboard-stage.ts';
import { anyRefund, visitsOf } from '../support/dashboard/dashboard-visits.ts';
import {
  accessibilityProblems,
  layoutShiftOf,
  overflowOf,
  takeScreenshot,
  unreadableParts,
} from '../support/dashboard/page-inspection.ts';
import { madeBeforeTests } from '../support/made-before-tests.ts';
import { isRelease } from '../support/release.ts';
import { useService } from '../support/use-service.ts';

/** Visited by `npm run test:ci`; `npm run test:system` visits all, also on a phone. */
const mainPages = ['sign-in', 'overview', 'refunds', 'refund-approve', 'settings-api-keys'];

describe.skipIf(inject('chromiumPath') === null)('pages of the dashboard in a browser', () => {
  // Without workers, so that pages do not change.
  const service = useService({ workers: 0 });
  const untouched = useService({ workers: 0 });
  const browser = useDashboardBrowser(service);
  const stage = madeBeforeTests('The stage', () => setStage(service, browser, untouched));

  const visits = Object.entries(visitsOf(service, stage)).filter(
    ([name]) => isRelease || mainPages.includes(name),
  );

  describe.each(isRelease ? (Object.keys(devices) as Device[]) : ['desktop' as const])(
    'on a %s',
    (device) => {
      test.each(visits)(
        '%s is accessible, fits the screen and raises no error, in light and dark',
        async (name, { as = 'owner', status = 200, arrive }) => {
          const page = await stage.pageOf(device, as);
          await page.emulateMedia({ colorScheme: 'light' });
          const complaints = noteComplaints(page);
          await arrive(page);
          await page.waitForLoadState('load');
          const moved = await layoutShiftOf(page);
          const { problems, inTheDark } = await look(page, device, name);
          const overflow = await overflowOf(page);
          const unreadable = await unreadableParts(page);
          page.removeAllListeners();
          const refused =
            status === 200 ? [] : [expect.stringContaining(`responded with a status of ${status} `)];
          expect(moved).toBeLessThan(0.1);
          expect({ problems, inTheDark, overflow, unreadable, complaints }).toEqual({
            problems: [],
            inTheDark: [],
            overflow: 0,
            unreadable: [],
            complaints: refused,
          });
        },
      );
    },
  );

  /** The phone skips rules that do not depend on the width, and only colors differ in the dark. */
  async function look(page: Page, device: Device, name: string) {
    await takeScreenshot(page, `${name}-${device}-light`);
    if (device === 'phone') return { problems: [], inTheDark: [] };
    const problems = await accessibilityProblems(page);
    await page.emulateMedia({ colorScheme: 'dark' });
    const inTheDark = await accessibilityProblems(page, { runOnly: ['color-contrast'] });
    await takeScreenshot(page, `${name}-${device}-dark`);
    return { problems, inTheDark };
  }

  const hostile = `<img src=x onerror="window.wasRun=1"><script>window.wasRun=1</script>"'&lt;`;

  test('text that others wrote is shown as text and never runs', async () => {
    const { deps } = service;
    const { id: organizationId } = await service.addOrganization(hostile);
    await createApiKey(deps, { organizationId, environment: 'test', actor: 'test' });
    const person = await addPerson(service, 'owner', organizationId);
    await fillWithRefunds(service, organizationId, 60);
    const owner = { organizationId };
    await deps.db.refund.updateMany({ where: owner, data: { metadata: { [hostile]: hostile } } });
    const { id: failedId } = await anyRefund(service, { ...owner, status: 'failed' });
    const { id: flaggedId } = await anyRefund(service, { ...owner, work: { flaggedAt: { not: null } } });
    await deps.db.refund.update({
      where: { id: failedId },
      data: { failureCode: hostile, failureMessage: hostile },
    });
    const flag = { flagReason: 'outcome_unknown', flagFacts: { message: hostile } };
    await deps.db.refundWork.update({ where: { refundId: flaggedId }, data: flag });
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
      '': 2,
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
      await page.goto(`${own}${path}`);
      const text = (await page.locator('body').textContent()) ?? '';
      expect(text.split('onerror=').length - 1, path).toBeGreaterThanOrEqual(times);
      expect(await page.locator('img, body script').count(), path).toBe(0);
      expect(await overflowOf(page), path).toBe(0);
    }
    expect(await page.evaluate(() => 'wasRun' in window)).toBe(false);
    expect(complaints).toEqual([]);
  });
});
