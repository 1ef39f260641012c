import { afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { createApiKey } from '#shared/organizations/api-keys.ts';
import { setFourEyesDays } from '#shared/organizations/organization-settings.ts';
import { acceptAsNewUser } from '#shared/people/members/accept-invitation.ts';
import { deleteUser } from '#shared/people/members/delete-user.ts';
import { disableUser } from '#shared/people/members/disable-user.ts';
import { invite } from '#shared/people/members/invitations.ts';
import { changeRole, removeMember } from '#shared/people/members/members.ts';
import type { InitiatedBy } from '#shared/refund-request/reasons.ts';
import { approveRefund } from '#shared/refunds/decisions/approve.ts';
import { createRefund } from '#shared/refunds/lifecycle/create.ts';
import { findOwnRefund } from '#shared/refunds/queries/find-refunds.ts';
import { auditOf } from '../../support/audit-log.ts';
import { newEmail, newPerson, type TestPerson } from '../../support/people.ts';
import { expectInvariants } from '../../support/refunds/invariants.ts';
import { newPayment } from '../../support/refunds/payments.ts';
import { rowOf } from '../../support/refunds/refund-records.ts';
import { refundRequest } from '../../support/refunds/refund-requests.ts';
import { storePolicies } from '../../support/refunds/stored-policies.ts';
import { useService } from '../../support/use-service.ts';

// A dishonest admin wants to approve what the admin asked for. Every refund requires approval.
const service = useService({ workers: 0, settings: { CREATE_WAIT_MS: 0 } });
const password = 'a quite different password';
const byOperator = { administration: 'cli:root' };
type Person = Pick<TestPerson, 'userId' | 'email'>;
let organizationId: string;
let ada: Person;
let grace: Person;

const requireApproval = (above: number | null) =>
  storePolicies(service, { approvalAbove: { api: above, dashboard: above, mcp: above } });

beforeAll(async () => {
  organizationId = service.organization.id;
  grace = await newPerson(service.deps, organizationId, 'operator');
});
beforeEach(async () => {
  await requireApproval(0);
  ada = await newPerson(service.deps, organizationId, 'admin');
});
afterEach(() => expectInvariants(service));

/** The inviter opens the link, as if it were the invited person. */
async function inviteSecondSelf({ userId }: Person, email = newEmail()): Promise<Person> {
  return await join(email, { userId });
}

async function join(email: string, acting: Parameters<typeof invite>[1]['acting']): Promise<Person> {
  const { token } = await invite(service.deps, { organizationId, acting, email, role: 'admin' });
  const { userId } = await acceptAsNewUser(service.deps, { token, password });
  return { userId, email };
}

const remove = ({ userId }: Person) =>
  removeMember(service.deps, { organizationId, userId, acting: { userId: ada.userId } });
const deleteAccount = ({ email }: Person) =>
  deleteUser({ ...service.deps, db: service.ownerDb }, { email, actor: 'cli:root' });

async function keyOf({ userId }: Person): Promise<string> {
  const owner = { organizationId, environment: 'test', actor: `user:${userId}` } as const;
  return (await createApiKey(service.deps, { ...owner, scopes: ['refunds:write', 'refunds:approve'] })).id;
}

/** Requests a refund, with an own API key unless in the dashboard; returns its id. */
async function ask(person: Person, initiatedBy: InitiatedBy = 'dashboard'): Promise<string> {
  const keyId = initiatedBy === 'dashboard' ? null : await keyOf(person);
  const apiKey = keyId === null ? null : { id: keyId, agentLimits: null };
  const actor = keyId === null ? `user:${person.userId}` : `key:${keyId}`;
  const asked = refundRequest(service, await newPayment(service), { apiKey, initiatedBy, actor });
  const { refund } = await createRefund(service.deps, asked);
  expect(refund.status).toBe('pending');
  return refund.id;
}

const read = (refundId: string) =>
  findOwnRefund(service.deps.db, { organizationId, environment: 'test' }, refundId);
const approve = async (actor: string, refundId: string) =>
  await approveRefund(service.deps, await read(refundId), actor);

/** Tries to approve as a person and with a key of that person; neither may work. */
async function expectRefused(approver: Person, refundId: string, words: string): Promise<void> {
  const refusal = { code: 'insufficient_scope', message: expect.stringContaining(words) };
  await expect(approve(`user:${approver.userId}`, refundId)).rejects.toMatchObject(refusal);
  const byKey = approve(`key:${await keyOf(approver)}`, refundId);
  await expect(byKey).rejects.toMatchObject({ code: 'insufficient_scope' });
  expect((await rowOf(service, refundId)).status).toBe('pending');
  expect((await auditOf(service, refundId)).map(({ action }) => action)).not.toContain('refund.approved');
}

async function expectApproved({ userId }: Person, refundId: string): Promise<void> {
  expect((await approve(`user:${userId}`, refundId)).kind).toBe('done');
  expect((await rowOf(service, refundId)).status).toBe('processing');
}

const connected = 'are connected by an invitation that was accepted in the last 7 days. Ask another member';

describe('the rule about invitations', () => {
  const age = (email: string, days: number) => service.deps.db.$executeRaw`
    UPDATE invitation SET accepted_at = accepted_at - make_interval(days => ${days}),
      created_at = created_at - make_interval(days => ${days}) WHERE email = ${email}`;
  const setDays = (days: number) => setFourEyesDays(service.deps, { organizationId, actor: 'test', days });
  afterEach(() => setDays(7));

  test('connects all accounts of the admin, also those that these invited', async () => {
    const [self, second] = [await inviteSecondSelf(ada), await inviteSecondSelf(ada)];
    const third = await inviteSecondSelf(second);
    const refundId = await ask(self);
    for (const approver of [second, third, ada]) await expectRefused(approver, refundId, connected);
    const byThird = await ask(third, 'api');
    for (const approver of [self, second, ada]) await expectRefused(approver, byThird, connected);
    await expectApproved(grace, refundId);
  });

  test('ends after the days that the organization sets, counted from when the account joined', async () => {
    const self = await inviteSecondSelf(ada);
    // A link that waited for days gains nothing.
    await service.deps.db
      .$executeRaw`UPDATE invitation SET created_at = created_at - interval '6 days' WHERE email = ${self.email}`;
    const refundId = await ask(self);
    await expectRefused(ada, refundId, connected);
    await age(self.email, 6);
    await expectRefused(ada, refundId, connected);
    await age(self.email, 1);
    await expectApproved(ada, refundId);
  });

  test('is longer, or off, as the organization sets it', async () => {
    const self = await inviteSecondSelf(ada);
    const [first, second] = [await ask(self), await ask(self)];
    await age(self.email, 20);
    await expectApproved(ada, first);
    await setDays(30);
    await expectRefused(ada, second, 'in the last 30 days');
    await setDays(0);
    await expectApproved(ada, second);
    await expectRefused(ada, await ask(ada), 'You requested this refund. Ask another member to approve it.');
  });

  test('holds for the account of a colleague that the admin removes, invites again and takes over', async () => {
    const bob = await newPerson(service.deps, organizationId, 'operator');
    const byAda = await ask(ada);
    await remove(bob);
    const taken = await inviteSecondSelf(ada, bob.email);
    expect(taken.userId).toBe(bob.userId);
    await expectRefused(taken, byAda, connected);
    await expectRefused(ada, await ask(taken), connected);
  });

  test('holds for a second account that has lost its role, has left, or was deleted between others', async () => {
    const self = await inviteSecondSelf(ada);
    const third = await inviteSecondSelf(self);
    const [refundId, byThird] = [await ask(self), await ask(third)];
    const demotion = { acting: ada, userId: self.userId, role: 'viewer' } as const;
    await changeRole(service.deps, { organizationId, ...demotion });
    await expectRefused(ada, refundId, connected);
    await remove(self);
    await expectRefused(ada, refundId, connected);
    await expectApproved(grace, refundId);
    await deleteAccount(self);
    await expectRefused(ada, byThird, connected);
    await expectRefused(third, await ask(ada), connected);
  });

  test('does not concern members whom the command line invited', async () => {
    const [one, two] = [await join(newEmail(), byOperator), await join(newEmail(), byOperator)];
    await expectApproved(two, await ask(one));
  });
});

describe('a second account that an operator is asked to delete', () => {
  test('stays while refunds await approval that it or its keys requested', async () => {
    const self = await inviteSecondSelf(ada);
    const pending = [await ask(self), await ask(self, 'api'), await ask(self, 'mcp')];
    await service.deps.db.apiKey.updateMany({
      where: { createdBy: `user:${self.userId}` },
      data: { revokedAt: new Date() },
    });
    const other = await ask(ada);
    const refusal = await deleteAccount(self).catch((error) => error.message);
    for (const words of ['await approval: 3 (', ...pending, 'Approve, reject or cancel them first.']) {
      expect(refusal).toContain(words);
    }
    expect(await service.deps.db.user.count({ where: { id: self.userId } })).toBe(1);
    for (const id of [...pending, other]) await expectApproved(grace, id);
    await deleteAccount(self);
  });

  test('leaves nothing to approve, not even what it requested at that moment', async () => {
    const self = await inviteSecondSelf(ada);
    await deleteAccount(self);
    const refundId = await ask(self);
    const owner = await newPerson(service.deps, organizationId, 'owner');
    const back = await inviteSecondSelf(owner, self.email);
    expect(back.userId).not.toBe(self.userId);
    await expectRefused(back, refundId, 'was deleted, so no one can approve it. You can reject it.');
  });
});

test('owners set the days within their limits, and the audit log has it', async () => {
  const set = (days: number) => setFourEyesDays(service.deps, { organizationId, actor: 'user:ada', days });
  await set(3);
  const entries = (await auditOf(service, organizationId)).filter(
    ({ action }) => action === 'organization.four_eyes_days_set',
  );
  expect(entries.at(-1)).toMatchObject({ actor: 'user:ada', detail: { to: 3 } });
  await expect(set(91)).rejects.toThrow();
  await set(7);
});

test('the only member learns whom to invite', async () => {
  const { id } = await service.addOrganization('Alone');
  const owner = await newPerson(service.deps, id, 'owner');
  // A disabled member cannot approve either.
  const disabled = await newPerson(service.deps, id, 'admin');
  await disableUser(service.deps, { userId: disabled.userId, actor: 'cli:root', revokesKeys: false });
  await service.deps.db.policy.updateMany({
    where: { organizationId: id },
    data: { rules: { approvalAbove: { dashboard: 0 } } },
  });
  const actor = `user:${owner.userId}`;
  const asker = { apiKey: null, initiatedBy: 'dashboard', actor, organizationId: id } as const;
  const { refund } = await createRefund(
    service.deps,
    refundRequest(service, await newPayment(service), asker),
  );
  await expect(approveRefund(service.deps, refund, actor)).rejects.toThrow(
    'You requested this refund, and no other member can approve it. An owner or admin can invite another member, who can approve it 7 days after joining. You can reject it.',
  );
});
