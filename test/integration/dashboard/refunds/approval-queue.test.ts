import { beforeAll, expect, test } from 'vitest';
import { acceptAsNewUser } from '#shared/people/members/accept-invitation.ts';
import { invite } from '#shared/people/members/invitations.ts';
import type { Refund } from '#shared/platform/database.ts';
import { setPolicies } from '#shared/policies/stored-policies.ts';
import { approveRefund } from '#shared/refunds/decisions/approve.ts';
import { createRefund } from '#shared/refunds/lifecycle/create.ts';
import { type DashboardMember, signInMember } from '#test/support/dashboard/dashboard-member.ts';
import { newEmail, newPerson } from '#test/support/people.ts';
import { newPayment } from '#test/support/refunds/payments.ts';
import { rowOf } from '#test/support/refunds/refund-records.ts';
import { refundRequest } from '#test/support/refunds/refund-requests.ts';
import { storePolicies } from '#test/support/refunds/stored-policies.ts';
import { useService } from '#test/support/use-service.ts';

const service = useService({ workers: 0 });
let operator: DashboardMember;
let queue: string;
/** In the order of the queue. */
const waiting: Refund[] = [];

beforeAll(async () => {
  queue = `/dashboard/${service.organization.id}/test/approvals`;
  operator = await signInMember(service, 'operator');
  await storePolicies(service, { name: 'Ask', approvalAbove: { api: 0, dashboard: 0 } });
  const ownRequest = { apiKey: null, initiatedBy: 'dashboard', actor: `user:${operator.userId}` } as const;
  const metadata = { order_id: 'SO-1<b>', items: [1] };
  for (const more of [{ metadata }, ownRequest, {}]) {
    const request = refundRequest(service, await newPayment(service), more);
    waiting.push((await createRefund(service.deps, request)).refund);
  }
});

const at = (index: number) => waiting[index] ?? expect.fail();
const linkTo = (text: string, words: string) =>
  new RegExp(`href="([^"]+)"[^>]*>${words}<`).exec(text)?.[1] ?? '';

test('shows what awaits approval one after another, with why, and who can approve what the user cannot', async () => {
  const colleague = await newPerson(service.deps, service.organization.id, 'operator');
  const first = (await operator.visitor.get(queue)).text;
  for (const words of [at(0).id, at(0).transactionId, 'SO-1&lt;b>', '[1]']) expect(first).toContain(words);
  expect(first).toContain('The policy “Ask” requires approval for every refund.');
  expect(first).toContain(`${queue}/${at(0).id}/approve`);
  const own = (await operator.visitor.get(linkTo(first, 'Next'))).text;
  expect(own).toContain('You requested this refund. Ask another member to approve it.');
  expect(own).toContain(`Can approve: ${colleague.email}.`);
  expect(own).not.toContain(`${queue}/${at(1).id}/approve`);
  expect(own).toContain(`${queue}/${at(1).id}/reject`);
  expect((await operator.visitor.get(linkTo(own, 'Previous'))).text).toContain(at(0).id);
});

test('has no single keys for a member who turned them off, the one of the search included', async () => {
  const { visitor } = await signInMember(service, 'operator');
  const keysOn = async () => [
    ...(await visitor.get(queue)).text.matchAll(/aria-keyshortcuts="([^"]+)"|<kbd>(.)/g),
  ];
  expect((await keysOn()).map(([, keys]) => keys)).toEqual(expect.arrayContaining(['/', 'a', 'r', 'j n']));
  const choose = (singleKeys: string) => visitor.post('/dashboard/you/single-keys', { singleKeys });
  expect((await choose('off')).done).toBe('single-keys-off');
  expect(await keysOn()).toEqual([]);
  await choose('on');
  expect(await keysOn()).not.toEqual([]);
});

test('shows a viewer who can approve, and no decision', async () => {
  const viewer = await signInMember(service, 'viewer');
  const { text } = await viewer.visitor.get(queue);
  expect(text).toContain('Your role is viewer, which cannot approve refunds.');
  expect(text).toContain(operator.email);
  expect(text).not.toMatch(/approvals\/ref_\w+\/(approve|reject)/);
});

test('goes on after a decision, also after one that came too late, and asks again for a missing reason', async () => {
  const [first, second, third] = [at(0), at(1), at(2)];
  const done = await operator.visitor.post(`${queue}/${first.id}/approve`);
  expect(done.done).toBe('approved');
  expect((await operator.visitor.get(String(done.headers.location))).text).toContain(second.id);

  const unfinished = await operator.visitor.post(`${queue}/${second.id}/reject`, { rejectReason: '' });
  expect(unfinished.status).toBe(400);
  expect(unfinished.text).toMatch(/<dialog id="reject"[^>]* open/);
  await operator.visitor.post(`${queue}/${second.id}/reject`, { rejectReason: 'An exchange' });
  expect((await rowOf(service, second.id)).status).toBe('cancelled');

  const { userId } = await newPerson(service.deps, service.organization.id, 'operator');
  expect((await approveRefund(service.deps, third, `user:${userId}`)).kind).toBe('done');
  const late = await operator.visitor.post(`${queue}/${third.id}/approve`);
  expect(late.status).toBe(409);
  expect(late.text).toContain('The refund is no longer awaiting approval: it is processing.');
  expect((await operator.visitor.get(linkTo(late.text, 'Next'))).text).toContain('Nothing awaits approval');
});

test('the page of a refund that no one can approve yet says who can, from when, and what to do', async () => {
  const { id: organizationId } = await service.addOrganization('New');
  const owner = await signInMember(service, 'owner', organizationId);
  const acting = { userId: owner.userId };
  const email = newEmail();
  const { token } = await invite(service.deps, { organizationId, acting, email, role: 'admin' });
  await acceptAsNewUser(service.deps, { token, password: 'a quite different password' });
  const file = { policies: [{ name: 'Ask', priority: 1, approvalAbove: { dashboard: 0 } }] };
  await setPolicies(service.deps, { organizationId, file, actor: 'test' });
  const asker = {
    apiKey: null,
    initiatedBy: 'dashboard',
    actor: `user:${owner.userId}`,
    organizationId,
  } as const;
  const { refund } = await createRefund(
    service.deps,
    refundRequest(service, await newPayment(service), asker),
  );
  const { text } = await owner.visitor.get(`/dashboard/${organizationId}/test/refunds/${refund.id}`);
  const words = text.replaceAll(/<[^>]+>/g, '');
  expect(words).toMatch(new RegExp(`Can approve from \\d{4}-\\d\\d-\\d\\d [\\d:]+ UTC: ${email}\\.`));
  for (const page of ['members', 'approvals']) {
    expect(text).toContain(`href="/dashboard/${organizationId}/test/settings/${page}"`);
  }
});
