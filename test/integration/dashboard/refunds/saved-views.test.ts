import { expect, test } from 'vitest';
import { removeMember } from '#shared/people/members/members.ts';
import { type DashboardMember, signInMember } from '#test/support/dashboard/dashboard-member.ts';
import { useService } from '#test/support/use-service.ts';

const service = useService({ workers: 0 });
const filter = '?currency=usd&amountFrom=500&status=failed&status=cancelled';

const refundsOf = (organizationId: string) => `/dashboard/${organizationId}/test/refunds`;
const home = () => refundsOf(service.organization.id);
const save = ({ visitor }: DashboardMember, name: string, query = filter) =>
  visitor.post(`${home()}/views${query}`, { name });

/** The names and addresses of the views after that of all refunds: the organization has none. */
async function savedFor({ visitor }: DashboardMember, at = home()): Promise<string[][]> {
  const [, views = ''] = /aria-label="Views">(.*?)<\/nav>/s.exec((await visitor.get(at)).text) ?? [];
  const links = [...views.matchAll(/href="([^"]*)"[^>]*>(.*?)<\/a>/gs)];
  return links.slice(1).map(([, href = '', name = '']) => [name, href.replaceAll('&amp;', '&')]);
}

test('a member saves the filter of the list, opens it with one click, and deletes it', async () => {
  const member = await signInMember(service, 'viewer');
  const shown = (await member.visitor.get(`${home()}${filter}`)).text;
  expect(shown).toContain('Save view');
  const saved = await save(member, ' Large & lost ', `${filter}&sort=oldest`);
  expect(saved.headers.location).toBe(`${home()}${filter}&done=view-saved`);
  await save(member, 'A first', '?q=ref_1');
  // Every member has this view.
  await save(member, 'Failed ones', '?status=failed');
  const [first, large] = await savedFor(member);
  expect([first, large]).toEqual([
    ['A first', `${home()}?q=ref_1`],
    ['Large &amp; lost', `${home()}${filter}`],
  ]);
  const opened = (await member.visitor.get(large?.[1] ?? '')).text;
  expect(opened).toMatch(/aria-current="true">Large &amp; lost/);
  expect(opened).not.toContain('Save view');
  await member.visitor.post(`${home()}/views/delete${filter}`, { name: 'Large & lost' });
  expect(await savedFor(member)).toEqual([first]);
});

test('views are of one member in one organization, and end with the membership', async () => {
  const { id: organizationId } = await service.addOrganization('Second');
  const [member, colleague] = [await signInMember(service, 'viewer'), await signInMember(service, 'owner')];
  const { userId } = member;
  const join = () => service.deps.db.membership.create({ data: { organizationId, userId, role: 'viewer' } });
  await join();
  await save(member, 'Mine');
  await member.visitor.post(`${refundsOf(organizationId)}/views?q=ref_2`, { name: 'Other' });
  expect((await savedFor(member)).flat()).toContain('Mine');
  expect((await savedFor(member, refundsOf(organizationId))).flat()[0]).toBe('Other');
  expect(await savedFor(colleague)).toEqual([]);
  await removeMember(service.deps, { organizationId, userId, acting: { userId } });
  await join();
  expect(await savedFor(member, refundsOf(organizationId))).toEqual([]);
});

test('a member keeps at most 20 views, also of requests at the same time', async () => {
  const member = await signInMember(service, 'viewer');
  const names = Array.from({ length: 24 }, (_, index) => `View ${index}`);
  const answers = await Promise.all(names.map((name) => save(member, name)));
  expect(answers.filter(({ status }) => status === 303)).toHaveLength(20);
  expect(answers.find(({ status }) => status === 400)?.text).toContain('Cannot be one of more than 20.');
  const kept = await savedFor(member);
  expect(kept).toHaveLength(20);
  expect((await save(member, kept[0]?.[0] ?? '', '?q=ref_2')).status).toBe(303);
  expect((await savedFor(member)).flat()).toContain(`${home()}?q=ref_2`);
});

test.each([
  ['no name', ' ', filter, 'Must be 1 to 40 printable characters.'],
  ['a long name', 'x'.repeat(41), filter, 'Must be 1 to 40 printable characters.'],
  ['a card number in its name', 'Card 4242 4242 4242 4242', filter, 'Cannot be saved with a card number'],
  ['a card number in its filter', 'Card', '?q=4242+4242+4242+4242', 'Cannot be saved with a card number'],
  ['a long filter', 'Long', `?${'status=failed&'.repeat(200)}`, 'the filter is too long'],
  ['an invalid filter', 'Odd', '?status=lost', 'Fix the highlighted filters.'],
])('refuses a view with %s', async (_what, name, query, problem) => {
  const member = await signInMember(service, 'viewer');
  const { status, text } = await save(member, name, query);
  expect([status, text.includes(problem)]).toEqual([400, true]);
  expect(await savedFor(member)).toEqual([]);
});
