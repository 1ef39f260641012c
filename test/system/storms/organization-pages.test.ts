import { expect, test, vi } from 'vitest';
import { expectInvariants } from '../../support/refunds/invariants.ts';
import { usePageStorm } from '../../support/storm/use-page-storm.ts';

vi.setConfig({ testTimeout: 7_200_000 });

const ofOrganization = '/dashboard/:organizationId';

const { storm, routes, strikePages } = usePageStorm();

test.each(['GET', 'POST'])('any %s request to a page of an organization is answered', async (method) => {
  const pages = routes().filter((each) => each.method === method && each.url.startsWith(ofOrganization));
  expect(pages.length).toBeGreaterThan(15);
  await strikePages(pages);
  await expectInvariants(storm.exposed.service);
});

test('a page of an organization is got or gets a form', () => {
  const others = routes().filter(
    ({ url, method }) => url.startsWith(ofOrganization) && !/^(GET|POST)$/.test(method),
  );
  expect(others).toEqual([]);
});
