import type { BrowserContextOptions, Page } from 'playwright-core';
import { createOrganization } from '../../../shared/organizations/create-organization.ts';
import { invite } from '../../../shared/people/invitations.ts';
import { setPolicies } from '../../../shared/policies/stored-policies.ts';
import type { TestPerson } from '../people.ts';
import { fillLifelikeRefunds } from '../refunds/lifelike-refunds.ts';
import type { TestService } from '../service.ts';
import { withClient } from '../stores/database-client.ts';
import { addPerson, type DashboardBrowser, signInAt } from './dashboard-browser.ts';

// Nothing on the page moves, so that its colors are those that they end with.
const still = { reducedMotion: 'reduce' } as const;

/** What people hold in their hands. */
export const devices: Record<'desktop' | 'phone', BrowserContextOptions> = {
  desktop: { ...still, viewport: { width: 1280, height: 800 } },
  phone: { ...still, viewport: { width: 360, height: 740 }, isMobile: true, hasTouch: true },
};
export type Device = keyof typeof devices;

/** Members of an organization with refunds, one of an empty one, and people who are not signed in: here, or at a new installation. */
export type Visitor = 'owner' | 'viewer' | 'newcomer' | 'stranger' | 'first';

/** An installation as it looks after months of work, and a page for each visitor on each device. */
export interface DashboardStage {
  people: Record<'owner' | 'viewer' | 'newcomer', TestPerson>;
  pages: Record<Device, Record<Visitor, Page>>;
  /** What the addresses of the organization with refunds begin with. */
  base: string;
  emptyBase: string;
  /** The token of an open one. */
  invitation: string;
}

/** What holds in the organization with refunds. */
export const policies = [
  {
    name: 'Electronics',
    priority: 1,
    match: { currencies: ['usd'], metadata: { channel: 'shop' } },
    windowDays: 30,
    maxPercent: 80,
    approvalAbove: { api: 20_000, dashboard: 50_000, mcp: 2_000 },
    velocity: { perTransaction: 3, perDay: { count: 200 } },
    enforce: { api: true, dashboard: true },
  },
  { name: 'Everything else', priority: 2, windowDays: 90, approvalAbove: { mcp: 0 } },
];

/** @param browsers in front of the service, and in front of an installation that nobody has set up. */
export async function setStage(
  service: TestService,
  browsers: { used: DashboardBrowser; untouched: DashboardBrowser },
): Promise<DashboardStage> {
  const { deps, organization } = service;
  const { id: emptyId } = await createOrganization(deps, { name: 'Beginners', actor: 'test' });
  const people = {
    owner: await addPerson(service, 'owner'),
    viewer: await addPerson(service, 'viewer'),
    newcomer: await addPerson(service, 'owner', emptyId),
  };
  // Somebody who has to choose between two.
  await deps.db.membership.create({
    data: { organizationId: emptyId, userId: people.viewer.userId, role: 'viewer' },
  });
  await setPolicies(deps, { organizationId: organization.id, file: { policies }, actor: 'test' });
  await fillWithRefunds(service, organization.id, 5_000);
  const acting = { userId: people.owner.userId };
  const invited = {
    email: 'new.colleague@example.com',
    role: 'operator',
    organizationId: organization.id,
  } as const;
  const { token } = await invite(deps, { ...invited, acting });
  const openAll = async (device: Device): Promise<Record<Visitor, Page>> => {
    const open = (browser: DashboardBrowser) => browser.open(devices[device]);
    const signedIn = async (person: TestPerson) => {
      const page = await open(browsers.used);
      await signInAt(page, person);
      return page;
    };
    return {
      owner: await signedIn(people.owner),
      viewer: await signedIn(people.viewer),
      newcomer: await signedIn(people.newcomer),
      stranger: await open(browsers.used),
      first: await open(browsers.untouched),
    };
  };
  return {
    people,
    pages: { desktop: await openAll('desktop'), phone: await openAll('phone') },
    base: `/dashboard/${organization.id}/test`,
    emptyBase: `/dashboard/${emptyId}/test`,
    invitation: token,
  };
}

/** Gives an organization refunds of the last 90 days in its test environment. */
export async function fillWithRefunds(
  { settings }: TestService,
  organizationId: string,
  count: number,
): Promise<void> {
  await withClient(settings.DATABASE_URL, (client) =>
    fillLifelikeRefunds(client, { organizationId, environment: 'test', count, now: new Date(), days: 90 }),
  );
}
