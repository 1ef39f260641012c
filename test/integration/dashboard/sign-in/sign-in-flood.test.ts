import { beforeEach, describe, expect, test } from 'vitest';
import { openHashLimiter } from '#shared/people/sign-in/hash-limiter.ts';
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

/** The address of a proxy that is not trusted: everyone behind it shares it. */
const proxy = '192.0.2.1';
const path = '/dashboard/sign-in';
const wrong = 'not the password at all';

/** A person with a browser that has signed in before, and has signed out. */
let known: TestPerson & { browser: DashboardVisitor };

const addPerson = () => newPerson(service.deps, service.organization.id, 'viewer');
const at = (address: string) => new DashboardVisitor(service, address);
const signInFrom = ({ email, password }: TestPerson, address: string) => at(address).signIn(email, password);
const waitIn = ({ text }: Page) => /Too many attempts\. Try again in ([^,]+),/.exec(text)?.[1] ?? null;

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

async function expectKnownBrowserSignsIn(): Promise<void> {
  expect((await known.browser.signIn(known.email, known.password)).status).toBe(303);
}

describe('a flood of', () => {
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
