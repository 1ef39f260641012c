import type { Browser, BrowserContextOptions, Page } from 'playwright-core';
import { inject } from 'vitest';
import type { Role } from '#shared/platform/database.ts';
import { madeBeforeTests } from '../made-before-tests.ts';
import { newPerson, type TestPerson } from '../people.ts';
import type { TestService } from '../service.ts';
import { startBrowser } from './browser.ts';

/** A real browser in front of a service that listens. */
export interface DashboardBrowser {
  /** Where the service listens, such as `http://127.0.0.1:40123`. */
  origin: string;
  /** Opens a page in an isolated browser context. */
  open(options?: BrowserContextOptions): Promise<Page>;
}

/** Gives a `describe` block a browser for the service; call it only where Chromium is available. */
export function useDashboardBrowser(service: TestService): DashboardBrowser {
  let browser: Browser;
  return madeBeforeTests(
    'The browser',
    async () => {
      const origin = await service.url();
      browser = await startBrowser(inject('chromiumPath') ?? '');
      return {
        origin,
        async open(options = {}) {
          const context = await browser.newContext({ baseURL: origin, ...options });
          context.setDefaultTimeout(60_000);
          return await context.newPage();
        },
      };
    },
    () => browser.close(),
  );
}

/** Adds a user to an organization, the service's own by default, without signing in. */
export async function addPerson(
  service: TestService,
  role: Role,
  organizationId = service.organization.id,
): Promise<TestPerson> {
  return await newPerson(service.deps, organizationId, role);
}

/** Signs in through the page and waits for the redirect. */
export async function signInAt(page: Page, { email, password }: Omit<TestPerson, 'userId'>): Promise<void> {
  await page.goto('/dashboard/sign-in');
  await page.getByLabel('Email address').fill(email);
  await page.getByLabel('Password').fill(password);
  await page.getByRole('button', { name: 'Sign in' }).click();
  await page.waitForURL((url) => !url.pathname.endsWith('/sign-in'));
}
