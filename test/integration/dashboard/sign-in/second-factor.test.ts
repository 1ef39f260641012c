import decodeQr from 'qr/decode.js';
import { beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { secretContext } from '#shared/people/sign-in/second-factor.ts';
import { auditOf } from '#test/support/audit-log.ts';
import { HeldTime } from '#test/support/clocks.ts';
import { type DashboardMember, signInMember } from '#test/support/dashboard/dashboard-member.ts';
import { DashboardVisitor, type Page } from '#test/support/dashboard/dashboard-visitor.ts';
import {
  type Authenticator,
  codeAt,
  hiddenField,
  recoveryCodesOf,
  secondFactorPath,
  setUpOf,
  setUpSecondFactor,
} from '#test/support/dashboard/second-factor.ts';
import type { TestPerson } from '#test/support/people.ts';
import { waitForLock, withClient } from '#test/support/stores/database-client.ts';
import { expectNotInDatabase } from '#test/support/stores/database-content.ts';
import { useService } from '#test/support/use-service.ts';

const time = new HeldTime();
const service = useService({ workers: 0, overrides: { clock: time } });
const you = '/dashboard/you';
const stepMs = 30_000;
const locked = 'Too many failed attempts.';

const advance = (ms: number) => time.advance(service.ownerDb, ms);
const sessionsOf = ({ userId }: TestPerson) => service.deps.db.session.count({ where: { userId } });
const actionsOf = async (target: string) => (await auditOf(service, target)).map(({ action }) => action);

beforeAll(async () => {
  // The middle of a step, so that a second more or less changes nothing.
  await advance(stepMs * 1.5 - (time.now().getTime() % stepMs));
});

/** A signed-in person with a second factor, whose app shows a code that was not used yet. */
async function protectedMember(): Promise<DashboardMember & { app: Authenticator }> {
  const member = await signInMember(service, 'viewer');
  const app = await setUpSecondFactor(member.visitor, time);
  await advance(stepMs);
  return { ...member, app };
}

/** A browser that has shown the password; its page waits for the code. */
async function passwordShown(
  { email, password }: TestPerson,
  browser = new DashboardVisitor(service),
): Promise<{
  browser: DashboardVisitor;
  page: Page;
  send: (code: string) => Promise<Page>;
}> {
  const page = await browser.signIn(email, password);
  expect(page).toMatchObject({ status: 200, text: expect.stringContaining('Enter your code') });
  const proof = hiddenField(page.text, 'proof');
  const send = (code: string) =>
    browser.post('/dashboard/sign-in/code', { proof, code, next: you }, { csrfToken: null });
  return { browser, page, send };
}

async function expectSignedOut(visitor: DashboardVisitor): Promise<void> {
  expect((await visitor.get(you)).headers.location).toMatch(/^\/dashboard\/sign-in/);
}

/** Reads the QR code of a page as a camera does, at five pixels per module. */
function textInQrCode(page: string): string {
  const [, size = '0'] = /viewBox="0 0 (\d+) \d+"(?:(?!<svg).)*h1v1h-1z/s.exec(page) ?? [];
  const width = Number(size) * 5;
  const data = new Uint8Array(width * width * 4).fill(255);
  for (const [, x, y] of page.matchAll(/M(\d+) (\d+)h1v1h-1z/g)) {
    for (let row = 0; row < 5; row += 1) {
      const start = ((Number(y) * 5 + row) * width + Number(x) * 5) * 4;
      for (let at = start; at < start + 20; at += 4) data.fill(0, at, at + 3);
    }
  }
  return decodeQr({ width, height: width, data });
}

describe('setting up a second factor', () => {
  test('shows the secret as a QR code and as text', async () => {
    const { visitor, email } = await signInMember(service, 'viewer');
    const page = await visitor.post(secondFactorPath);
    const uri = new URL(textInQrCode(page.text));
    expect(uri.protocol).toBe('otpauth:');
    expect(decodeURIComponent(uri.pathname)).toContain(email);
    expect(Object.fromEntries(uri.searchParams)).toEqual({
      issuer: 'Refunds',
      secret: setUpOf(page).secret,
      algorithm: 'SHA1',
      digits: '6',
      period: '30',
    });
  });

  test('needs a current code, and keeps the secret after a wrong one', async () => {
    const { visitor, userId } = await signInMember(service, 'viewer');
    const { secret, field } = setUpOf(await visitor.post(secondFactorPath));
    for (const code of ['', '123', codeAt(secret, time.now(), 10 * stepMs)]) {
      const page = await visitor.post(`${secondFactorPath}/enable`, { secret: field, code });
      expect(page.status).toBe(400);
      expect(page.text).toContain('Is incorrect. Check the clock of your device');
      expect(setUpOf(page).secret).toBe(secret);
    }
    expect(await service.deps.db.secondFactor.count({ where: { userId } })).toBe(0);
  });

  test('ends all other sessions and copies of this one, as does turning it off, and both are audited', async () => {
    const member = await signInMember(service, 'viewer');
    const [elsewhere, copy] = [new DashboardVisitor(service), new DashboardVisitor(service)];
    await elsewhere.signIn(member.email, member.password);
    copy.takeCookies(member.visitor.cookie);
    const app = await setUpSecondFactor(member.visitor, time);
    for (const each of [elsewhere, copy]) await expectSignedOut(each);
    expect((await member.visitor.get(you)).text).toContain('Unused recovery codes: 10.');
    await advance(stepMs);
    const { browser, send } = await passwordShown(member);
    await send(app.code());
    const page = await member.visitor.post(`${secondFactorPath}/disable`);
    expect([page.headers.location, page.done]).toEqual([you, 'second-factor-disabled']);
    await expectSignedOut(browser);
    expect((await new DashboardVisitor(service).signIn(member.email, member.password)).status).toBe(303);
    expect(await actionsOf(member.userId)).toEqual(
      expect.arrayContaining(['user.second_factor_enabled', 'user.second_factor_disabled']),
    );
  });

  test('stores the secret encrypted for its user, and hashes of the recovery codes', async () => {
    const [{ app, userId }, other] = [await protectedMember(), await protectedMember()];
    for (const secret of [app.secret, ...app.recoveryCodes]) {
      await expectNotInDatabase(service.databaseUrl, secret);
      await expectNotInDatabase(service.databaseUrl, secret.replaceAll('-', ''));
    }
    const { encryptedSecret: bytes, encryptionKeyId: keyId } =
      await service.deps.db.secondFactor.findUniqueOrThrow({ where: { userId } });
    expect(service.deps.secrets.open({ bytes, keyId }, secretContext(userId))).toBe(app.secret);
    expect(() => service.deps.secrets.open({ bytes, keyId }, secretContext(other.userId))).toThrow();
  });

  test('is refused with a secret that was shown to someone else, or too long ago', async () => {
    const [mine, theirs] = [await signInMember(service, 'viewer'), await signInMember(service, 'viewer')];
    const { secret, field } = setUpOf(await theirs.visitor.post(secondFactorPath));
    const enable = ({ visitor }: DashboardMember) =>
      visitor.post(`${secondFactorPath}/enable`, { secret: field, code: codeAt(secret, time.now()) });
    const expired = { status: 303, headers: { location: you }, done: 'set-up-expired' };
    expect(await enable(mine)).toMatchObject(expired);
    await advance(16 * 60_000);
    const asked = await enable(theirs);
    const confirmation = { held: hiddenField(asked.text, 'held'), current: theirs.password };
    expect(await theirs.visitor.post(`${secondFactorPath}/enable`, confirmation)).toMatchObject(expired);
  });
});

describe('signing in with a second factor', () => {
  test('opens no page and stores no session until the code is right', async () => {
    const member = await protectedMember();
    await service.deps.db.session.deleteMany({ where: { userId: member.userId } });
    const { browser, page, send } = await passwordShown(member);
    expect(page.headers['set-cookie']).toBeUndefined();
    expect((await send('000000')).text).toContain('Is incorrect or was used before.');
    await expectSignedOut(browser);
    expect(browser.cookie).toBe('');
    expect(await sessionsOf(member)).toBe(0);
    expect(await send(member.app.code())).toMatchObject({ status: 303, headers: { location: you } });
    expect((await browser.get(you)).status).toBe(200);
  });

  test('accepts a code once, and then no older one, and not the code that enabled it', async () => {
    const member = await signInMember(service, 'viewer');
    const app = await setUpSecondFactor(member.visitor, time);
    expect((await (await passwordShown(member)).send(app.code())).status).toBe(401);
    await advance(3 * stepMs);
    const [code, older] = [app.code(), app.code(-stepMs)];
    expect((await (await passwordShown(member)).send(code)).status).toBe(303);
    for (const used of [code, older]) {
      expect((await (await passwordShown(member)).send(used)).status).toBe(401);
    }
    expect((await (await passwordShown(member)).send(app.code(stepMs))).status).toBe(303);
  });

  test.each(['code', 'recovery code'])(
    'accepts a %s that is sent five times at once only once',
    async (kind) => {
      const member = await protectedMember();
      const waiting = await Promise.all(Array.from({ length: 5 }, () => passwordShown(member)));
      await service.deps.db.session.deleteMany({ where: { userId: member.userId } });
      const code = kind === 'code' ? member.app.code() : (member.app.recoveryCodes[0] ?? '');
      const answers = await Promise.all(waiting.map(({ send }) => send(code)));
      expect(answers.filter(({ status }) => status === 303)).toHaveLength(1);
      expect(await sessionsOf(member)).toBe(1);
    },
  );

  test('accepts each recovery code once, however it is typed, and audits it', async () => {
    const member = await protectedMember();
    const [first = '', second = ''] = member.app.recoveryCodes;
    expect(new Set(member.app.recoveryCodes).size).toBe(10);
    const { browser, send } = await passwordShown(member);
    expect((await send(first.toLowerCase().replaceAll('-', ' '))).status).toBe(303);
    expect((await browser.get(you)).text).toContain('Unused recovery codes: 9.');
    const next = await passwordShown(member);
    expect((await next.send(first)).status).toBe(401);
    expect((await next.send(second)).status).toBe(303);
    const uses = (await actionsOf(member.userId)).filter((action) => action === 'user.recovery_code_used');
    expect(uses).toHaveLength(2);
  });

  test('locks after five wrong codes, also when they are sent at once', async () => {
    const member = await protectedMember();
    const { send } = await passwordShown(member);
    await Promise.all(Array.from({ length: 20 }, (_, guess) => send(`${guess}`.padStart(6, '9'))));
    for (const right of [member.app.code(), member.app.recoveryCodes[0] ?? '']) {
      expect(await send(right)).toMatchObject({
        status: 401,
        text: expect.stringMatching(/Too many failed attempts. Try again in \d+ seconds/),
      });
    }
    // The session that the person has is not affected.
    expect((await member.visitor.get(you)).status).toBe(200);
    await advance(60 * 60_000);
    expect((await (await passwordShown(member)).send(member.app.code())).status).toBe(303);
  });

  test('stays open in a known browser while someone who knows the password sends wrong codes, until it sends five', async () => {
    const member = await protectedMember();
    await member.visitor.post('/dashboard/sign-out');
    const attacker = await passwordShown(member);
    for (let guess = 0; guess < 6; guess += 1) await attacker.send('wrong');
    expect((await attacker.send(member.app.code())).text).toContain(locked);
    expect((await (await passwordShown(member)).send(member.app.code())).text).toContain(locked);
    const own = await passwordShown(member, member.visitor);
    expect((await own.send('wrong')).text).not.toContain(locked);
    expect((await own.send(member.app.code())).status).toBe(303);
    await member.visitor.get(you);
    await member.visitor.post('/dashboard/sign-out');
    const again = await passwordShown(member, member.visitor);
    for (let guess = 0; guess < 5; guess += 1) expect((await again.send('wrong')).text).not.toContain(locked);
    expect((await again.send(member.app.code(stepMs))).text).toContain(locked);
  });

  test('starts again when the password was shown too long ago or the field was changed', async () => {
    const member = await protectedMember();
    const { browser, page, send } = await passwordShown(member);
    const proof = hiddenField(page.text, 'proof');
    const changed = [`${proof.slice(0, -2)}AA`, proof.replace('.', ''), '', '.', 'x.y'];
    for (const each of changed) {
      const fields = { proof: each, code: member.app.code() };
      const answer = await browser.post('/dashboard/sign-in/code', fields, { csrfToken: null });
      expect([answer.headers.location, answer.done]).toEqual(['/dashboard/sign-in', 'sign-in-expired']);
    }
    await advance(16 * 60_000);
    expect((await send(member.app.code())).done).toBe('sign-in-expired');
  });

  test('is refused when the second factor was replaced meanwhile', async () => {
    const member = await protectedMember();
    const { send } = await passwordShown(member);
    await setUpSecondFactor(member.visitor, time);
    await advance(stepMs);
    expect((await send(member.app.code())).status).toBe(401);
  });

  test('is required of a password that was accepted just before', async () => {
    const { userId, email, password } = await signInMember(service, 'viewer');
    await service.deps.db.session.deleteMany({ where: { userId } });
    const visitor = new DashboardVisitor(service);
    await withClient(service.databaseUrl, async (client) => {
      await client.query('BEGIN');
      await client.query('SELECT 1 FROM "user" WHERE id = $1 FOR NO KEY UPDATE', [userId]);
      await client.query(`INSERT INTO second_factor VALUES ($1, '', 'a key', 1, '{}', now())`, [userId]);
      const answering = visitor.signIn(email, password);
      await waitForLock(client);
      await client.query('COMMIT');
      const page = await answering;
      expect(page.status).toBe(401);
      expect(page.text).toContain('The second factor was just changed. Sign in again.');
    });
    expect(await service.deps.db.session.count({ where: { userId } })).toBe(0);
  });
});

describe('a person with a second factor', () => {
  test('replaces the recovery codes', async () => {
    const member = await protectedMember();
    const codes = recoveryCodesOf(await member.visitor.post(`${secondFactorPath}/recovery-codes`));
    const { send } = await passwordShown(member);
    expect((await send(member.app.recoveryCodes[0] ?? '')).status).toBe(401);
    expect((await send(codes[0] ?? '')).status).toBe(303);
    expect(await actionsOf(member.userId)).toContain('user.recovery_codes_replaced');
  });

  test('changes the password and keeps the second factor', async () => {
    const member = await protectedMember();
    const next = 'a quite different password';
    await member.visitor.post(`${you}/password`, { current: member.password, next });
    expect((await member.visitor.get(you)).status).toBe(200);
    const { send } = await passwordShown({ ...member, password: next });
    expect((await send(member.app.code())).status).toBe(303);
  });
});

test.each(['recovery-codes', 'disable'])('%s is refused without a second factor', async (path) => {
  const { visitor } = await signInMember(service, 'viewer');
  const page = await visitor.post(`${secondFactorPath}/${path}`);
  expect(page).toMatchObject({ status: 400, text: expect.stringContaining('has no second factor') });
});

describe('requiring a second factor', () => {
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
    await setUpSecondFactor(admin.visitor, time);
  });
  beforeEach(() => setRule(false));

  test('is a choice of admins who have one, and is audited', async () => {
    const without = await signInMember(service, 'owner');
    const refused = await choose(without, 'yes');
    expect(refused).toMatchObject({
      status: 400,
      text: expect.stringContaining('Set up your own second factor'),
    });
    expect((await without.visitor.get(`${base}/settings/members`)).text).toMatch(
      /Members without one: \d+\./,
    );
    expect((await choose(admin, 'yes')).done).toBe('second-factor-required');
    expect((await choose(admin, 'yes')).status).toBe(303);
    expect((await choose(admin, 'no')).done).toBe('second-factor-optional');
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
    const part = await visitor.get(`${base}/refunds`, { 'hx-request': 'true' });
    expect(part).toMatchObject({ status: 403, text: '', headers: { 'hx-redirect': setUp } });
    expect((await visitor.get(setUp)).text).toContain('requires a second factor. Set one up first.');
    expect((await visitor.get(`/dashboard/${elsewhere.id}/test`)).status).toBe(200);
    expect((await new DashboardVisitor(service).signIn(email, password)).status).toBe(303);
    await setUpSecondFactor(visitor, time);
    expect((await visitor.get(base)).status).toBe(200);
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
    await setUpSecondFactor(visitor, time);
    expect((await visitor.get('/dashboard/queues')).status).toBe(200);
  });
});
