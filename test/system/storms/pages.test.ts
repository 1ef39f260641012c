import { expect, test, vi } from 'vitest';
import { usePageStorm } from '../../support/storm/use-page-storm.ts';

vi.setConfig({ testTimeout: 7_200_000 });

const { routes, strikePages } = usePageStorm();

const ofOrganization = '/dashboard/:organizationId';

test('any request to a page outside of an organization is answered, and creates nothing unless it is carried out', async () => {
  const pages = routes().filter(({ url }) => url.startsWith('/dashboard') && !url.startsWith(ofOrganization));
  expect(pages.length).toBeGreaterThan(60);
  await strikePages(pages);
});
