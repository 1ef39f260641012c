import type { BrowserContextOptions, Page } from 'playwright-core';
import { actorOf } from '#shared/audit/actors.ts';
import { noteHeartbeat } from '#shared/health/heartbeat.ts';
import { createApiKey } from '#shared/organizations/api-keys.ts';
import { createOrganization } from '#shared/organizations/create-organization.ts';
import { invite } from '#shared/people/members/invitations.ts';
import { setPolicies } from '#shared/policies/stored-policies.ts';
import { fillRefunds } from '../refunds/fill-refunds.ts';
import type { TestService } from '../service.ts';
import { withClient } from '../stores/database-client.ts';
import { storeDelivery } from '../webhooks/api-endpoints.ts';
import { addEndpoint } from '../webhooks/endpoints.ts';
import { addPerson, type DashboardBrowser, signInAt } from './dashboard-browser.ts';

// No animations, so that screenshots show final colors.
const still = { reducedMotion: 'reduce' } as const;

/** The devices that pages are tested on. */
export const devices: Record<'desktop' | 'phone', BrowserContextOptions> = {
  desktop: { ...still, viewport: { width: 1280, height: 800 } },
  phone: { ...still, viewport: { width: 360, height: 740 }, isMobile: true, hasTouch: true },
};
export type Device = keyof typeof devices;

/** Members of an organization with refunds and of an empty one, and visitors without a session, here and at a new installation. */
export type Visitor = 'owner' | 'viewer' | 'newcomer' | 'visitor' | 'first';

/** An installation with months of data. */
export interface DashboardStage {
  /** The page of a visitor on a device, opened at the first call. */
  pageOf(device: Device, visitor: Visitor): Promise<Page>;
  /** The path prefix of the organization with refunds. */
  base: string;
  emptyBase: string;
  /** The token of an open invitation. */
  invitation: string;
  /** The path of a webhook delivery below `base`. */
  delivery: string;
}

/** The policies of the organization with refunds. */
const policies = [
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

/** @param untouched an installation that is not set up. */
export async function setStage(
  service: TestService,
  browser: DashboardBrowser,
  untouched: TestService,
): Promise<DashboardStage> {
  const { deps, organization } = service;
  // Offered by pages; nothing is sent.
  Object.assign(service.settings, { SMTP_URL: 'smtp://mail.invalid' });
  const { id: emptyId } = await createOrganization(deps, { name: 'Beginners', actor: 'test' });
  const people = {
    owner: await addPerson(service, 'owner'),
    viewer: await addPerson(service, 'viewer'),
    newcomer: await addPerson(service, 'owner', emptyId),
  };
  // A member of two organizations.
  await deps.db.membership.create({
    data: { organizationId: emptyId, userId: people.viewer.userId, role: 'viewer' },
  });
  await setPolicies(deps, { organizationId: organization.id, file: { policies }, actor: 'test' });
  await fillWithRefunds(service, organization.id, 5_000);
  const acting = { userId: people.owner.userId };
  await createApiKey(deps, {
    ...{
      organizationId: organization.id,
      environment: 'test',
      actor: actorOf(acting),
      name: 'Support agent',
    },
    agentLimits: { currency: 'usd', maxPerRefund: 5_000n, maxPerDay: 50_000n, reasons: ['other'] },
  });
  const invited = {
    email: 'new.colleague@example.com',
    role: 'operator',
    organizationId: organization.id,
  } as const;
  const { token } = await invite(deps, { ...invited, acting });
  const open = async (device: Device, visitor: Visitor): Promise<Page> => {
    const elsewhere = visitor === 'first' ? { baseURL: await untouched.url() } : {};
    const page = await browser.open({ ...devices[device], ...elsewhere });
    if (visitor in people) await signInAt(page, people[visitor as keyof typeof people]);
    return page;
  };
  const opened = new Map<string, Promise<Page>>();
  const delivery = await failedDelivery(service);
  // No worker runs, and pages show one that has delivered every event.
  await service.ownerDb
    .$executeRaw`UPDATE webhook_cursor SET position = (SELECT max(position) FROM refund_event)`;
  return {
    async pageOf(device, visitor) {
      await noteHeartbeat(service.ownerDb, 'worker_1');
      const name = `${visitor} on a ${device}`;
      const page = opened.get(name) ?? open(device, visitor);
      opened.set(name, page);
      return await page;
    },
    base: `/dashboard/${organization.id}/test`,
    emptyBase: `/dashboard/${emptyId}/test`,
    invitation: token,
    delivery,
  };
}

/** A delivery that failed, and its path. */
async function failedDelivery(service: TestService): Promise<string> {
  const { id } = await addEndpoint(service, { url: 'https://shop.example.com/webhooks/refunds' });
  const ended = { durationMs: 84, responseStatus: 500, error: 'unsuccessful_status' };
  const attempt = { number: 1, startedAt: new Date().toISOString(), ...ended, responseBody: 'Bad gateway' };
  const delivery = await storeDelivery(service, id, { attempts: [attempt] });
  return `/webhooks/${id}/deliveries/${delivery.id}`;
}

/** Creates refunds of the last 90 days in the test environment. */
export async function fillWithRefunds(
  { databaseUrl }: TestService,
  organizationId: string,
  count: number,
): Promise<void> {
  await withClient(databaseUrl, (client) =>
    fillRefunds(client, {
      organizationId,
      environment: 'test',
      count,
      now: new Date(),
      days: 90,
      createdEvery: '1 millisecond',
    }),
  );
}
