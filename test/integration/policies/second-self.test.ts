import { afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { createApiKey } from '../../../shared/organizations/api-keys.ts';
import { setFourEyesDays } from '../../../shared/organizations/four-eyes-days.ts';
import { disableUser } from '../../../shared/people/members/disable-user.ts';
import { invite } from '../../../shared/people/members/invitations.ts';
import { setPolicies } from '../../../shared/policies/stored-policies.ts';
import { approveRefund } from '../../../shared/refunds/decisions/approve.ts';
import { createRefund } from '../../../shared/refunds/lifecycle/create.ts';
import { findOwnRefund } from '../../../shared/refunds/queries/find-refunds.ts';
import { useAgents } from '../../support/agents/use-agents.ts';
import { auditOf } from '../../support/audit-log.ts';
import { type DashboardMember, signInMember } from '../../support/dashboard/dashboard-member.ts';
import { DashboardVisitor, type Page } from '../../support/dashboard/dashboard-visitor.ts';
import { newEmail, newPerson } from '../../support/people.ts';
import { adminCliOf, ownerCliOf } from '../../support/processes/admin-cli.ts';
import { expectInvariants } from '../../support/refunds/invariants.ts';
import { newPayment } from '../../support/refunds/payments.ts';
import { rowOf } from '../../support/refunds/refund-records.ts';
import { refundRequest } from '../../support/refunds/refund-requests.ts';
import { useService } from '../../support/use-service.ts';

// A dishonest admin wants to approve what the admin asked for. Every refund requires approval.
const service = useService({ workers: 0, settings: { CREATE_WAIT_MS: 0 } });
const agents = useAgents(service);
const password = 'a quite different password';
let base: string;
let ada: DashboardMember;
let grace: DashboardMember;

const usePolicy = (amount: number | null) =>
  setPolicies(service.deps, {
    organizationId: service.organization.id,
    file: {
      policies: [
        { name: 'Ask', priority: 1, approvalAbove: { api: amount, dashboard: amount, mcp: amount } },
      ],
    },
    actor: 'test',
  });

beforeAll(async () => {
  base = `/dashboard/${service.organization.id}/test`;
  grace = await signInMember(service, 'operator');
});
beforeEach(async () => {
  await usePolicy(0);
  ada = await signInMember(service, 'admin');
});
afterEach(() => expectInvariants(service));

/** A member who joined by an invitation. */
interface Joined {
  userId: string;
  email: string;
  visitor: DashboardVisitor;
}

/** The inviter opens the link that the members' page shows, as if it were the invited person. */
async function inviteSecondSelf({ visitor }: Pick<Joined, 'visitor'>, email = newEmail()): Promise<Joined> {
  const page = await visitor.post(`${base}/settings/members/invitations`, { email, role: 'admin' });
  return await join(linkIn(page), email);
}

const linkIn = ({ text }: Page) => /\/dashboard\/invitation\/invite_[\w-]+/.exec(text)?.[0] ?? '';

async function join(link: string, email: string): Promise<Joined> {
  const visitor = new DashboardVisitor(service);
  await visitor.get(link);
  expect((await visitor.post(link, { password })).status).toBe(303);
  await visitor.get('/dashboard/you');
  const { id: userId } = await service.deps.db.user.findUniqueOrThrow({ where: { email } });
  return { userId, email, visitor };
}

async function keyOf({ userId }: Pick<Joined, 'userId'>) {
  return await createApiKey(service.deps, {
    ...{ organizationId: service.organization.id, environment: 'test', actor: `user:${userId}` },
    scopes: ['refunds:read', 'refunds:write', 'refunds:approve'],
  });
}

type Asker = Pick<Joined, 'userId' | 'visitor'>;

async function askInDashboard({ visitor }: Asker): Promise<string> {
  const transactionId = await newPayment(service);
  const fields = { transactionId, amount: '10.00', currency: 'usd', reason: 'other', metadata: '' };
  const { text } = await visitor.get(`${base}/refunds/new`);
  const [, formKey = ''] = /name="formKey" value="([^"]+)"/.exec(text) ?? [];
  const page = await visitor.post(`${base}/refunds/new`, { ...fields, formKey, step: 'confirm' });
  return /ref_\w+/.exec(String(page.headers.location))?.[0] ?? page.text;
}

async function askWithKey(asker: Asker): Promise<string> {
  const { plaintext: key } = await keyOf(asker);
  const body = { transactionId: await newPayment(service), amount: 1_000, reason: 'other' };
  return (await service.call('POST', '/v1/refunds', { key, body })).body.data.id;
}

async function askAsAgent({ userId }: Asker): Promise<string> {
  const agent = await agents.connect({ actor: `user:${userId}` });
  const args = { transactionId: await newPayment(service), amount: 1_000, reason: 'other' };
  return (await agent.call('create_refund', args)).content.refund.id;
}

const ways = [
  ['in the dashboard', askInDashboard],
  ['with an API key', askWithKey],
  ['as an agent', askAsAgent],
] as const;

/** Tries to approve in the dashboard and with a key; neither may work. */
async function expectRefused(approver: Asker, refundId: string, words: string): Promise<void> {
  const url = `${base}/refunds/${refundId}`;
  const page = await approver.visitor.get(url);
  expect(page.text).toContain(words);
  expect(page.text).not.toContain('commandfor="approve"');
  const posted = await approver.visitor.post(`${url}/approve`);
  expect(posted.status).toBe(403);
  expect(posted.text).toContain(words);
  const { plaintext: key } = await keyOf(approver);
  const called = await service.call('POST', `/v1/refunds/${refundId}/approve`, { key });
  expect([called.status, called.body.error.code]).toEqual([403, 'insufficient_scope']);
  expect((await rowOf(service, refundId)).status).toBe('pending');
  expect((await auditOf(service, refundId)).map(({ action }) => action)).not.toContain('refund.approved');
}

async function expectApproved({ visitor }: Pick<Joined, 'visitor'>, refundId: string): Promise<void> {
  const url = `${base}/refunds/${refundId}`;
  expect((await visitor.get(url)).text).toContain('commandfor="approve"');
  expect((await visitor.post(`${url}/approve`)).status).toBe(303);
  expect((await rowOf(service, refundId)).status).toBe('processing');
}

const deleteAccount = ({ email }: Joined) => ownerCliOf(service)(['user', 'delete', '--email', email]);

const connected = 'are connected by an invitation that was accepted in the last 7 days. Ask another member';

describe.each(ways)('a refund that was requested %s', (_way, ask) => {
  test('by the admin is not approved by the admin', async () => {
    const refundId = await ask(ada);
    await expectRefused(ada, refundId, 'Ask another member to approve it. You can reject it.');
    await expectApproved(grace, refundId);
  });

  test('by an account that the admin invited is not approved by the admin, and vice versa', async () => {
    const self = await inviteSecondSelf(ada);
    const [bySelf, byAda] = [await ask(self), await ask(ada)];
    await expectRefused(ada, bySelf, connected);
    await expectRefused(self, byAda, connected);
    await expectApproved(grace, bySelf);
    await expectApproved(grace, byAda);
  });

  test('by one of two accounts of the admin is not approved by the other, nor by one that these invited', async () => {
    const [self, second] = [await inviteSecondSelf(ada), await inviteSecondSelf(ada)];
    const third = await inviteSecondSelf(second);
    const refundId = await ask(self);
    for (const approver of [second, third, ada]) await expectRefused(approver, refundId, connected);
    const byThird = await ask(third);
    for (const approver of [self, second, ada]) await expectRefused(approver, byThird, connected);
    await expectApproved(grace, refundId);
  });
});

describe('the rule about invitations', () => {
  const age = (email: string, days: number) => service.deps.db.$executeRaw`
    UPDATE invitation SET accepted_at = accepted_at - make_interval(days => ${days}),
      created_at = created_at - make_interval(days => ${days}) WHERE email = ${email}`;
  const setDays = (days: number) =>
    setFourEyesDays(service.deps, { organizationId: service.organization.id, actor: 'test', days });
  afterEach(() => setDays(7));

  test('ends after the days that the organization sets, counted from when the account joined', async () => {
    const self = await inviteSecondSelf(ada);
    // A link that waited for days gains nothing.
    await service.deps.db
      .$executeRaw`UPDATE invitation SET created_at = created_at - interval '6 days' WHERE email = ${self.email}`;
    const refundId = await askInDashboard(self);
    await expectRefused(ada, refundId, connected);
    await age(self.email, 6);
    await expectRefused(ada, refundId, connected);
    await age(self.email, 1);
    await expectApproved(ada, refundId);
  });

  test('is longer, or off, as the organization sets it', async () => {
    const self = await inviteSecondSelf(ada);
    const [first, second] = [await askInDashboard(self), await askInDashboard(self)];
    await age(self.email, 20);
    await expectApproved(ada, first);
    await setDays(30);
    await expectRefused(ada, second, 'in the last 30 days');
    await setDays(0);
    await expectApproved(ada, second);
    const own = await askInDashboard(ada);
    await expectRefused(ada, own, 'You requested this refund. Ask another member to approve it.');
  });

  test('begins again when a member is removed and invited again', async () => {
    const self = await inviteSecondSelf(ada);
    await age(self.email, 8);
    const refundId = await askInDashboard(self);
    await ada.visitor.get(`${base}/settings/members`);
    const removed = await ada.visitor.post(`${base}/settings/members/${self.userId}/remove`);
    expect(removed.status).toBe(303);
    const page = await ada.visitor.post(`${base}/settings/members/invitations`, {
      email: self.email,
      role: 'admin',
    });
    await self.visitor.get(linkIn(page));
    expect((await self.visitor.post(linkIn(page))).status).toBe(303);
    await expectRefused(ada, refundId, connected);
  });

  test('holds for the account of a colleague that the admin removes, invites again and takes over', async () => {
    const bob = await signInMember(service, 'operator');
    const byAda = await askInDashboard(ada);
    await ada.visitor.get(`${base}/settings/members`);
    await ada.visitor.post(`${base}/settings/members/${bob.userId}/remove`);
    const taken = await inviteSecondSelf(ada, bob.email);
    expect(taken.userId).toBe(bob.userId);
    await expectRefused(taken, byAda, connected);
    await expectRefused(ada, await askInDashboard(taken), connected);
  });

  test('holds for a second account that has left or lost its role', async () => {
    const self = await inviteSecondSelf(ada);
    const refundId = await askInDashboard(self);
    await ada.visitor.get(`${base}/settings/members`);
    await ada.visitor.post(`${base}/settings/members/${self.userId}/role`, { role: 'viewer' });
    await expectRefused(ada, refundId, connected);
    await ada.visitor.post(`${base}/settings/members/${self.userId}/remove`);
    await expectRefused(ada, refundId, connected);
  });

  test('holds between accounts when the one between them is deleted', async () => {
    const self = await inviteSecondSelf(ada);
    const third = await inviteSecondSelf(self);
    await expectRefused(ada, await askInDashboard(third), connected);
    expect((await deleteAccount(self)).code).toBe(0);
    await expectRefused(ada, await askInDashboard(third), connected);
    await expectRefused(third, await askInDashboard(ada), connected);
  });

  test('does not concern members whom the command line invited', async () => {
    const members: Joined[] = [];
    for (const email of [newEmail(), newEmail()]) {
      const { token } = await invite(service.deps, {
        ...{ organizationId: service.organization.id, email, role: 'operator' },
        acting: { administration: 'cli:root' },
      });
      members.push(await join(`/dashboard/invitation/${token}`, email));
    }
    const [one, two] = members;
    if (one === undefined || two === undefined) throw new Error('There are no members');
    await expectApproved(two, await askInDashboard(one));
  });
});

describe('a second account that an operator is asked to delete', () => {
  test('stays while refunds await approval that it or its keys requested', async () => {
    const self = await inviteSecondSelf(ada);
    const pending = [await askInDashboard(self), await askWithKey(self), await askAsAgent(self)];
    await service.deps.db.apiKey.updateMany({
      where: { createdBy: `user:${self.userId}` },
      data: { revokedAt: new Date() },
    });
    const other = await askInDashboard(ada);
    const refused = await deleteAccount(self);
    expect(refused.code).toBe(1);
    expect(refused.stderr).toContain('await approval: 3 (');
    for (const id of pending) expect(refused.stderr).toContain(id);
    expect(refused.stderr).toContain('Approve, reject or cancel them first.');
    expect(await service.deps.db.user.count({ where: { id: self.userId } })).toBe(1);
    for (const id of [...pending, other]) await expectApproved(grace, id);
    expect((await deleteAccount(self)).code).toBe(0);
  });

  test('leaves nothing to approve, not even what it requested at that moment', async () => {
    const self = await inviteSecondSelf(ada);
    expect((await deleteAccount(self)).code).toBe(0);
    const asker = { apiKey: null, initiatedBy: 'dashboard', actor: `user:${self.userId}` } as const;
    const { refund } = await createRefund(
      service.deps,
      refundRequest(service, await newPayment(service), asker),
    );
    expect(refund.status).toBe('pending');
    const back = await inviteSecondSelf(await signInMember(service, 'owner'), self.email);
    expect(back.userId).not.toBe(self.userId);
    await expectRefused(back, refund.id, 'was deleted, so no one can approve it. You can reject it.');
  });
});

describe('the setting', () => {
  const url = () => `${base}/settings/approvals`;
  const daysNow = async () =>
    (await service.deps.db.organization.findUniqueOrThrow({ where: { id: service.organization.id } }))
      .fourEyesDays;
  const changes = async () =>
    (await auditOf(service, service.organization.id)).filter(
      ({ action }) => action === 'organization.four_eyes_days_set',
    );

  test('is 7 days, shown to every member, and changed by owners alone', async () => {
    expect((await grace.visitor.get(url())).text).toMatch(/<input[^>]*id="days"[^>]*value="7"[^>]*disabled/);
    expect((await ada.visitor.post(url(), { days: '0' })).status).toBe(403);
    expect(await daysNow()).toBe(7);
    const owner = await signInMember(service, 'owner');
    await owner.visitor.get(url());
    const before = (await changes()).length;
    const saved = await owner.visitor.post(url(), { days: ' 14 ' });
    expect(saved).toMatchObject({ status: 303, headers: { location: `${url()}?done=approvals-saved` } });
    await owner.visitor.post(url(), { days: '14' });
    expect(await daysNow()).toBe(14);
    expect((await changes()).slice(before)).toMatchObject([
      { actor: `user:${owner.userId}`, detail: { from: 7, to: 14 } },
    ]);
    for (const days of ['', '-1', '91', '7.5', 'many']) {
      const refused = await owner.visitor.post(url(), { days });
      expect([refused.status, refused.text.includes('Must be a whole number from 0 to 90.')]).toEqual([
        400,
        true,
      ]);
    }
    await owner.visitor.post(url(), { days: '7' });
  });

  test('is changed on the command line, and the audit log has it', async () => {
    const admin = adminCliOf(service);
    const set = (days: string) =>
      admin(['organization', 'set', '--organization', service.organization.id, '--four-eyes-days', days]);
    expect((await set('3')).code).toBe(0);
    expect(await daysNow()).toBe(3);
    expect((await changes()).at(-1)).toMatchObject({
      actor: expect.stringMatching(/^cli:/),
      detail: { to: 3 },
    });
    const refused = await set('91');
    expect(refused.code).not.toBe(0);
    expect(refused.stderr).toContain('Use a whole number from 0 to 90.');
    expect((await set('7')).code).toBe(0);
  });
});

test('changed policies do not release a refund that awaits approval', async () => {
  const refundId = await askInDashboard(ada);
  await usePolicy(null);
  expect((await rowOf(service, refundId)).status).toBe('pending');
  await expectRefused(ada, refundId, 'You requested this refund.');
  for (const decision of ['resolve', 'recheck']) {
    const fields = { end: 'completed', resolveReason: 'x', processorRefund: 're_1', force: 'yes' };
    const page = await ada.visitor.post(`${base}/refunds/${refundId}/${decision}`, fields);
    expect(page.status).toBe(409);
  }
  expect((await rowOf(service, refundId)).status).toBe('pending');
});

test('the only member learns whom to invite', async () => {
  const { id: organizationId } = await service.addOrganization('Alone');
  const file = { policies: [{ name: 'Ask', priority: 1, approvalAbove: { dashboard: 0 } }] };
  await setPolicies(service.deps, { organizationId, file, actor: 'test' });
  const owner = await signInMember(service, 'owner', organizationId);
  // A disabled member cannot approve either.
  const disabled = await newPerson(service.deps, organizationId, 'admin');
  await disableUser(service.deps, { userId: disabled.userId, actor: 'cli:root', revokesKeys: false });
  const own = `/dashboard/${organizationId}/test/refunds`;
  const { text } = await owner.visitor.get(`${own}/new`);
  const [, formKey = ''] = /name="formKey" value="([^"]+)"/.exec(text) ?? [];
  const transactionId = await newPayment(service);
  const fields = { transactionId, amount: '10.00', currency: 'usd', reason: 'other', metadata: '' };
  const page = await owner.visitor.post(`${own}/new`, { ...fields, formKey, step: 'confirm' });
  const [refundId = ''] = /ref_\w+/.exec(String(page.headers.location)) ?? [];
  const shown = await owner.visitor.get(`${own}/${refundId}`);
  expect(shown.text).toContain(
    'You requested this refund, and no other member can approve it. An owner or admin can invite another member, who can approve it 7 days after joining. You can reject it.',
  );
  const refund = await findOwnRefund(service.deps.db, { organizationId, environment: 'test' }, refundId);
  // The operator of the installation still can.
  expect((await approveRefund(service.deps, refund, 'cli:root')).kind).toBe('done');
});
