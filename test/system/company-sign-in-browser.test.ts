import { describe, expect, inject, onTestFinished, test } from 'vitest';
import { setProvider } from '#shared/people/company-sign-in/provider.ts';
import { pagesOf, useCompanySignIn } from '../support/company-sign-in/company-sign-in-stage.ts';
import { startIdentityProvider } from '../support/company-sign-in/identity-provider.ts';
import { noteComplaints } from '../support/dashboard/browser.ts';
import { addPerson, useDashboardBrowser } from '../support/dashboard/dashboard-browser.ts';
import { useService } from '../support/use-service.ts';

describe.skipIf(inject('chromiumPath') === null)('in a browser', () => {
  const service = useService({ workers: 0 });
  const company = useCompanySignIn(service);
  const browser = useDashboardBrowser(service);

  test('a member signs in through the provider and opens the page that was asked for', async () => {
    const { organizationId } = company;
    // Until there is a user, pages lead to the set-up.
    await addPerson(service, 'owner');
    const local = await startIdentityProvider();
    onTestFinished(() => local.close());
    await setProvider(service.deps, { organizationId, actor: 'test', settings: local.settings });
    local.account = { ...company.provider.account };
    const page = await browser.open();
    const complaints = noteComplaints(page);
    await page.goto(pagesOf(organizationId));
    await page.getByRole('link', { name: "Sign in with your company's account" }).click();
    await page.waitForURL(`**${pagesOf(organizationId)}`);
    await page.getByRole('link', { name: local.account.email }).waitFor();
    expect(complaints).toEqual([]);
  });
});
