import { beforeEach, describe, expect, test } from 'vitest';
import { invite } from '#shared/people/members/invitations.ts';
import { openHashLimiter } from '#shared/people/sign-in/hash-limiter.ts';
import { holdRateLimits } from '#test/support/clocks.ts';
import { signInMember } from '#test/support/dashboard/dashboard-member.ts';
import { DashboardVisitor, type Page } from '#test/support/dashboard/dashboard-visitor.ts';
import { newEmail, newPerson, type TestPerson } from '#test/support/people.ts';
import { useService } from '#test/support/use-service.ts';

let hashes = 0;
const limiter = openHashLimiter();
/** The hashing of passwords, counted. */
const hashLimiter: typeof limiter = (use, work) =>
  limiter(use, (inLane) =>
    work((hashing) => {
      hashes += 1;
      return inLane(hashing);
    }),
  );
const minuteMs = 60_000;
const hourMs = 60 * minuteMs;
const time = { ms: Date.now() };
const clock = { now: () => new Date(time.ms) };
const service = useService({ workers: 0, overrides: { hashLimiter, clock } });
const limited = useService({ workers: 0, settings: { RATE_LIMIT_PER_SECOND: 1_000 } });

/** The address of a proxy that is not trusted: everyone behind it shares it. */
const proxy = '192.0.2.1';
const path = '/dashboard/sign-in';
const wrong = 'not the password at all';

beforeEach(holdRateLimits);

const addPerson = () => newPerson(service.deps, service.organization.id, 'viewer');
const at = (address: string) => new DashboardVisitor(service, address);
const signInFrom = ({ email, password }: TestPerson, address: string) => at(address).signIn(email, password);
const waitIn = ({ text }: Page) => /Too many attempts\. Try again in ([^,]+),/.exec(text)?.[1] ?? null;

describe('a flood of', () => {
  /** A person with a browser that has signed in before, and has signed out. */
  let known: TestPerson & { browser: DashboardVisitor };

  async function expectKnownBrowserSignsIn(): Promise<void> {
    expect((await known.browser.signIn(known.email, known.password)).status).toBe(303);
  }

  beforeEach(async () => {
    // The limits have windows that begin with the hour.
    time.ms = (Math.floor(time.ms / hourMs) + 1) * hourMs;
    const person = await addPerson();
    const browser = at(proxy);
    expect((await browser.signIn(person.email, person.password)).status).toBe(303);
    await browser.get('/dashboard/you');
    await browser.post('/dashboard/sign-out');
    known = { ...person, browser };
    hashes = 0;
  });

  test('malformed forms costs no hash and counts for nothing', async () => {
    const forms: [fields: Record<string, string> | [string, string][], headers?: Record<string, string>][] = [
      [{}],
      [{ email: known.email }],
      [{ email: known.email, password: '' }],
      [{ email: '', password: wrong }],
      [{ email: 'nobody', password: wrong }],
      [{ email: known.email, password: 'x'.repeat(401) }],
      [
        [
          ['email', known.email],
          ['password', wrong],
          ['password', wrong],
        ],
      ],
      [{ email: known.email, password: wrong }, { 'sec-fetch-site': 'cross-site' }],
      [{ email: known.email, password: wrong }, { 'content-type': 'text/plain' }],
    ];
    const before = await service.deps.db.lockout.count();
    const statuses = new Set<number>();
    for (const [fields, headers = {}] of forms) {
      statuses.add((await at(proxy).post(path, fields, { csrfToken: null, headers })).status);
    }
    expect([...statuses].toSorted()).toEqual([401, 403, 415]);
    expect(hashes).toBe(0);
    expect(await service.deps.db.lockout.count()).toBe(before);
  });

  test('attempts that occupies all hashing lets known browsers in, and asks the others to try again', async () => {
    let release = () => {};
    const blocked = new Promise<void>((resolve) => {
      release = resolve;
    });
    const flood = Array.from({ length: 52 }, () =>
      limiter({ lane: 'open', of: newEmail() }, (inLane) => inLane(() => blocked)),
    );
    const page = await signInFrom(known, '198.51.100.1');
    expect(page).toMatchObject({ status: 503, headers: { 'retry-after': '2' } });
    expect(page.text).toContain('Too many people are signing in right now. Try again in a few seconds.');
    await expectKnownBrowserSignsIn();
    release();
    await Promise.all(flood);
    expect((await signInFrom(known, '198.51.100.1')).status).toBe(303);
  });

  test('a browser in which another person signs in stays a known one', async () => {
    const other = await addPerson();
    expect((await known.browser.signIn(other.email, other.password)).status).toBe(303);
    await known.browser.get('/dashboard/you');
    await known.browser.post('/dashboard/sign-out');
    for (let count = 0; count < 6; count += 1) await at(proxy).signIn(known.email, wrong);
    expect(waitIn(await signInFrom(known, proxy))).not.toBeNull();
    await expectKnownBrowserSignsIn();
  });
});

test('sixty attempts a minute close the set-up, an invitation and a form, and neither other invitations nor the form for others', async () => {
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
  for (const url of ['/dashboard/set-up', '/dashboard/invitation/made-up', '/dashboard/you/password']) {
    const statuses: number[] = [];
    for (let count = 0; count < 60; count += 1) statuses.push((await flooding.post(url)).status);
    expect(statuses, url).not.toContain(429);
    const refused = await flooding.post(url);
    expect(refused).toMatchObject({ status: 429, headers: { 'retry-after': '60' } });
    expect(refused.text).toContain('Try again in a minute.');
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
  const remaining = async (url: string) => Number((await visitor.get(url)).headers['ratelimit-remaining']);
  const before = await remaining('/dashboard/you');
  expect(await remaining('/dashboard/queues')).toBe(before - 1);
  expect(await remaining('/dashboard/you')).toBe(before - 2);
});
