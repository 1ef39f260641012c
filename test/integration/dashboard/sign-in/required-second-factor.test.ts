import { beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { auditOf } from '#test/support/audit-log.ts';
import { type DashboardMember, signInMember } from '#test/support/dashboard/dashboard-member.ts';
import { DashboardVisitor } from '#test/support/dashboard/dashboard-visitor.ts';
import { setUpSecondFactor } from '#test/support/dashboard/second-factor.ts';
import { useService } from '#test/support/use-service.ts';

const service = useService({ workers: 0 });
const setUp = '/dashboard/you?required=yes#second-factor';
let admin: DashboardMember;
let base: string;

const setRule = (isRequired: boolean) =>
  service.deps.db.organization.update({
    where: { id: service.organization.id },
    data: { requiresSecondFactor: isRequired },
  });
const choose = ({ visitor }: DashboardMember, required: string) =>
  visitor.post(`${base}/settings/members/second-factor`, { required });

beforeAll(async () => {
  base = `/dashboard/${service.organization.id}/test`;
  admin = await signInMember(service, 'admin');
  await setUpSecondFactor(admin.visitor, service.deps.clock);
});

beforeEach(() => setRule(false));

describe('requiring a second factor', () => {
  test('is a choice of admins who have one, and is audited', async () => {
    const without = await signInMember(service, 'owner');
    const refused = await choose(without, 'yes');
    expect(refused).toMatchObject({
      status: 400,
      text: expect.stringContaining('Set up your own second factor'),
    });
    expect((await without.visitor.get(`${base}/settings/members`)).text).toContain('Members without one: 1.');
    expect((await choose(admin, 'yes')).headers.location).toContain('done=second-factor-required');
    expect((await choose(admin, 'yes')).status).toBe(303);
    expect((await choose(admin, 'no')).headers.location).toContain('done=second-factor-optional');
    const actions = (await auditOf(service, service.organization.id)).map(({ action }) => action);
    expect(actions.filter((action) => action.includes('second_factor'))).toEqual([
      'organization.second_factor_required',
      'organization.second_factor_optional',
    ]);
  });

  test('closes every page of the organization until the member has set one up', async () => {
    const { visitor, userId, email, password } = await signInMember(service, 'owner');
    const elsewhere = await service.addOrganization('Elsewhere');
    const membership = { organizationId: elsewhere.id, userId, role: 'viewer' } as const;
    await service.deps.db.membership.create({ data: membership });
    await setRule(true);
    for (const path of ['', '/refunds', '/refunds/export', '/settings/api-keys', '/policies/new']) {
      expect(await visitor.get(base + path), path).toMatchObject({
        status: 303,
        headers: { location: setUp },
      });
    }
    const keys = await service.deps.db.apiKey.count();
    const page = await visitor.post(`${base}/settings/api-keys`, { scopes: 'refunds:read' });
    expect(page).toMatchObject({ status: 303, headers: { location: setUp } });
    expect(await service.deps.db.apiKey.count()).toBe(keys);
    const part = await visitor.get(`${base}/refunds/results`, { 'hx-request': 'true' });
    expect(part).toMatchObject({ status: 403, text: '', headers: { 'hx-redirect': setUp } });
    expect((await visitor.get(setUp)).text).toContain('requires a second factor. Set one up first.');
    expect((await visitor.get(`/dashboard/${elsewhere.id}/test`)).status).toBe(200);
    expect((await new DashboardVisitor(service).signIn(email, password)).status).toBe(303);
    await setUpSecondFactor(visitor, service.deps.clock);
    expect((await visitor.get(base)).status).toBe(200);
  });
});

test('the queue board is closed to a member without the second factor that an organization requires', async () => {
  const only = (await service.deps.db.organization.findMany()).map(({ id }) => id);
  const { visitor, userId } = await signInMember(service, 'operator');
  for (const organizationId of only.filter((id) => id !== service.organization.id)) {
    await service.deps.db.membership.create({ data: { organizationId, userId, role: 'operator' } });
  }
  expect((await visitor.get('/dashboard/queues')).status).toBe(200);
  await setRule(true);
  expect((await visitor.get('/dashboard/queues')).status).toBe(403);
  await setUpSecondFactor(visitor, service.deps.clock);
  expect((await visitor.get('/dashboard/queues')).status).toBe(200);
});
