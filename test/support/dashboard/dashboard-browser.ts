import { randomBytes } from 'node:crypto';
import type { Browser, BrowserContextOptions, Page } from 'playwright-core';
import { inject } from 'vitest';
import { createUser } from '../../../shared/people/users.ts';
import type { Role } from '../../../shared/platform/database.ts';
import { madeBeforeTests } from '../made-before-tests.ts';
import { newEmail, type TestPerson } from '../people.ts';
import type { TestService } from '../service.ts';
import { startBrowser } from './browser.ts';

/** A real browser in front of a service that listens. */
export interface DashboardBrowser {
  /** Where the service listens, such as `http://127.0.0.1:40123`. */
  origin: string;
  /** A page in a browser that knows nothing of the others. */
  open(options?: BrowserContextOptions): Promise<Page>;
}

/** Gives a `describe` block a browser for the service; only to be called where there is a chromium. */
export function useDashboardBrowser(service: TestService): DashboardBrowser {
  let browser: Browser;
  return madeBeforeTests(
    'The browser',
    async () => {
      const origin = await service.app.listen({ host: '127.0.0.1', port: 0 });
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

/** Adds somebody to an organization, the service's own unless told; the password is known, and nobody has signed in. */
export async function addPerson(
  service: TestService,
  role: Role,
  organizationId = service.organization.id,
): Promise<TestPerson> {
  const email = newEmail();
  const password = randomBytes(9).toString('hex');
  const person = { organizationId, email, password, role, actor: 'test' };
  const { id: userId } = await createUser(service.deps, person);
  return { userId, email, password };
}

/** Signs in as a person does, and is then on the page that the dashboard leads to. */
export async function signInAt(page: Page, { email, password }: Omit<TestPerson, 'userId'>): Promise<void> {
  await page.goto('/dashboard/sign-in');
  await page.getByLabel('E-mail address').fill(email);
  await page.getByLabel('Password').fill(password);
  await page.getByRole('button', { name: 'Sign in' }).click();
  await page.waitForURL((url) => !url.pathname.endsWith('/sign-in'));
}
