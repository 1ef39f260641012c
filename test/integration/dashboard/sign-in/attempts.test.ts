import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { invite } from '#shared/people/members/invitations.ts';
import { openHashLimiter } from '#shared/people/sign-in/hash-limiter.ts';
import { signInMember } from '#test/support/dashboard/dashboard-member.ts';
import { DashboardVisitor } from '#test/support/dashboard/dashboard-visitor.ts';
import { newPerson } from '#test/support/people.ts';
import { useService } from '#test/support/use-service.ts';

let hashes = 0;
const limiter = openHashLimiter();
const hashLimiter: typeof limiter = (use, work) => {
  hashes += 1;
  return limiter(use, work);
};
const service = useService({ workers: 0, overrides: { hashLimiter } });
const limited = useService({ workers: 0, settings: { RATE_LIMIT_PER_SECOND: 1_000 } });

test.each(['/dashboard/set-up', '/dashboard/invitation/made-up', '/dashboard/you/password'])(
  '%s accepts sixty attempts per minute and network address',
  async (url) => {
    const { visitor } = await signInMember(service, 'viewer');
    const statuses: number[] = [];
    for (let count = 0; count <= 60; count += 1) statuses.push((await visitor.post(url)).status);
    expect(statuses).toContain(429);
    expect(statuses.slice(0, 50)).not.toContain(429);
    const refused = await visitor.post(url);
    expect(refused).toMatchObject({ status: 429, headers: { 'retry-after': '60' } });
    expect(refused.text).toContain('Try again in a minute.');
  },
);

test('closes an invitation neither for other invitations nor a form for other users at the same address', async () => {
  const address = '192.0.2.77';
  const [flooding, other] = [new DashboardVisitor(service, address), new DashboardVisitor(service, address)];
  const people = await Promise.all(
    [1, 2].map(() => newPerson(service.deps, service.organization.id, 'viewer')),
  );
  for (const [at, visitor] of [flooding, other].entries()) {
    const { email = '', password = '' } = people[at] ?? {};
    expect((await visitor.signIn(email, password)).status).toBe(303);
    await visitor.get('/dashboard/you');
  }
  for (const url of ['/dashboard/invitation/made-up', '/dashboard/you/password']) {
    for (let count = 0; count < 60; count += 1) await flooding.post(url);
    expect((await flooding.post(url)).status).toBe(429);
  }
  expect((await other.post('/dashboard/invitation/another')).status).toBe(404);
  expect((await other.post('/dashboard/you/password')).status).toBe(400);
});

describe('attempts at an invitation', () => {
  /** The link of an invitation that stays open, because its email address has a user who must sign in. */
  async function openLink(): Promise<string> {
    const elsewhere = await service.addOrganization('Elsewhere');
    const { email } = await newPerson(service.deps, elsewhere.id, 'viewer');
    const { id: organizationId } = service.organization;
    const request = { organizationId, acting: { administration: 'test' }, email, role: 'viewer' } as const;
    return `/dashboard/invitation/${(await invite(service.deps, request)).token}`;
  }
  const password = 'four other unrelated words';
  const statusesOf = async (visitor: DashboardVisitor, urls: Iterable<string>) => {
    const statuses: number[] = [];
    for (const url of urls) statuses.push((await visitor.post(url, { password })).status);
    return statuses;
  };
  const percentEncoded = (text: string, at: number) =>
    `${text.slice(0, at)}%${text.charCodeAt(at).toString(16)}${text.slice(at + 1)}`;

  test('are counted together however the link is spelled, and refused before anything is hashed', async () => {
    const link = await openLink();
    const letters = Array.from({ length: link.length - '/dashboard/'.length }, (_, at) => at + 11);
    const spellings = letters
      .filter((at) => link[at] !== '/')
      .map((at, index) => `${percentEncoded(link, at)}${index % 2 === 0 ? '' : `?and=${index}`}`);
    const tries = [...spellings, ...spellings].slice(0, 100);
    hashes = 0;
    const statuses = await statusesOf(new DashboardVisitor(service), tries);
    expect(statuses).toEqual([...Array(60).fill(400), ...Array(40).fill(429)]);
    expect(hashes).toBe(60);
  });

  test('at many invitations are counted together as well, for all addresses of an IPv6 network', async () => {
    const links = Array.from({ length: 119 }, (_, at) => `/dashboard/invitation/made-up-${at}`);
    const statuses = await statusesOf(new DashboardVisitor(service, '2001:db8:0:7::1'), links);
    expect(new Set(statuses)).toEqual(new Set([404]));
    const link = await openLink();
    expect(await statusesOf(new DashboardVisitor(service, '2001:db8:0:7::2'), [link, link])).toEqual([
      400, 429,
    ]);
    expect(await statusesOf(new DashboardVisitor(service, '2001:db8:0:8::1'), [link])).toEqual([400]);
  });
});

test('counts the requests of a user for pages and the queue board together', async () => {
  const { visitor } = await signInMember(limited, 'operator');
  const clock = vi.spyOn(Date, 'now').mockReturnValue(Date.now());
  onTestFinished(() => clock.mockRestore());
  const remaining = async (url: string) => Number((await visitor.get(url)).headers['ratelimit-remaining']);
  const before = await remaining('/dashboard/you');
  expect(await remaining('/dashboard/queues')).toBe(before - 1);
  expect(await remaining('/dashboard/you')).toBe(before - 2);
});
