import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { setHourlyConfirmation } from '#shared/organizations/organization-settings.ts';
import { newId } from '#shared/platform/ids.ts';
import { ownAddressAt } from '#test/support/processors/at-sandbox.ts';
import { HeldTime } from '../../support/clocks.ts';
import { type DashboardMember, signInMember } from '../../support/dashboard/dashboard-member.ts';
import { DashboardVisitor, type Page } from '../../support/dashboard/dashboard-visitor.ts';
import { hiddenField, secondFactorPath, setUpSecondFactor } from '../../support/dashboard/second-factor.ts';
import { reviewUpload, sendReviewed } from '../../support/dashboard/upload-batch.ts';
import { filledPath, noteRegisteredRoutes } from '../../support/http/registered-routes.ts';
import { newPayment } from '../../support/refunds/payments.ts';
import { storePolicies } from '../../support/refunds/stored-policies.ts';
import { useService } from '../../support/use-service.ts';

const registered = noteRegisteredRoutes();
const time = new HeldTime();
const service = useService({ workers: 0, overrides: { clock: time } });
const minuteMs = 60_000;
const question = "Confirm that it's you";

/** Forms of the settings, the policies and the second factor that need no confirmation, and why. */
const exceptions: Record<string, string> = {
  '/settings/accounts/:accountId/test': 'it changes nothing',
  '/policies/replay': 'it changes nothing',
  '/settings/company-sign-in/test': 'it changes nothing',
  '/settings/notifications/test': 'it changes nothing',
  '/settings/accounts/columns': 'it changes what lists show, and no right or money',
};

let owner: DashboardMember;
let apiKeys: string;

beforeAll(async () => {
  await time.hold(service.ownerDb);
  apiKeys = `/dashboard/${service.organization.id}/test/settings/api-keys`;
});

/** Every test begins with a session that was confirmed too long ago. */
beforeEach(async () => {
  owner = await signInMember(service, 'owner');
  await time.advance(service.ownerDb, 11 * minuteMs);
});

/** The routes that change who may do what or move money, as registered. */
function sensitiveRoutes(): string[] {
  const forms = registered.filter(({ method, url }) => method === 'POST' && url.startsWith('/dashboard/'));
  return forms
    .map(({ url }) => url.replace('/dashboard/:organizationId/:environment', ''))
    .filter((path) =>
      /^\/(settings|policies)|^\/refunds\/(new$|:id\/(approve|resolve))|^\/batches\/(new\/create|:id\/resume)|^\/dashboard\/you\/(second-factor|password|mails)/.test(
        path,
      ),
    )
    .filter((path) => !(path in exceptions));
}

function filled(path: string): string {
  const base = path.startsWith('/dashboard') ? '' : '/dashboard/:organizationId/:environment';
  return filledPath(`${base}${path}`, service.organization.id);
}

const newKey = (name: string) => ({ name, scopes: 'refunds:read' });
const keysNamed = (name: string) => service.deps.db.apiKey.count({ where: { name } });
const entries = () => service.deps.db.auditLog.count({ where: { actor: `user:${owner.userId}` } });
const answer = (asked: Page, fields: Record<string, string>, url = apiKeys) =>
  owner.visitor.post(url, { held: hiddenField(asked.text, 'held'), ...fields });

test('every form that changes keys, credentials, policies, members or the second factor, or moves money asks first', async () => {
  const before = await entries();
  let asked = 0;
  for (const path of sensitiveRoutes()) {
    const page = await owner.visitor.post(filled(path));
    // A page that takes no form.
    if (page.status === 405) continue;
    expect(page.status, path).toBe(403);
    expect(page.text, path).toContain(question);
    asked += 1;
  }
  expect(asked).toBeGreaterThanOrEqual(18);
  expect(await entries()).toBe(before);
  for (const path of Object.keys(exceptions)) {
    expect((await owner.visitor.post(filled(path))).text, path).not.toContain(question);
  }
});

test('no form asks within ten minutes of the sign-in', async () => {
  const { visitor } = await signInMember(service, 'owner');
  await time.advance(service.ownerDb, 9 * minuteMs);
  for (const path of sensitiveRoutes().filter((each) => !/leave|disable|^\/dashboard/.test(each))) {
    expect((await visitor.post(filled(path))).text, path).not.toContain(question);
  }
});

describe('where the organization asks once an hour', () => {
  let pages: string;
  const set = async (isHourly: boolean, above: number | null) => {
    const { id: organizationId } = service.organization;
    await setHourlyConfirmation(service.deps, { organizationId, actor: 'test', isHourly });
    await storePolicies(service, { approvalAbove: { dashboard: above } });
  };
  /** Creates a refund of 10.00 USD. */
  const create = async (amount = '10') => {
    const entry = { transactionId: await newPayment(service), amount, currency: 'usd', reason: 'other' };
    const form = { ...entry, metadata: '', formKey: randomUUID(), step: 'confirm' };
    return await owner.visitor.post(`${pages}/refunds/new`, form);
  };
  beforeAll(() => {
    pages = `/dashboard/${service.organization.id}/test`;
  });
  afterAll(() => set(false, null));

  test('a refund within the threshold for approval asks for no confirmation until the hour is over', async () => {
    await set(true, 1_000);
    expect((await create()).status).toBe(303);
    expect((await create('10.01')).text).toContain(question);
    await time.advance(service.ownerDb, 48 * minuteMs);
    expect((await create()).status).toBe(303);
    await time.advance(service.ownerDb, 2 * minuteMs);
    expect((await create()).text).toContain(question);
  });

  test('every other form and a refund without a threshold ask as before', async () => {
    await set(true, null);
    expect((await create()).text).toContain(question);
    expect((await owner.visitor.post(apiKeys, newKey('Hourly'))).text).toContain(question);
    await set(false, 1_000);
    expect((await create()).text).toContain(question);
  });
});

test('a session that was not confirmed lately creates no refund, by a form or a file', async () => {
  const pages = `/dashboard/${service.organization.id}/test`;
  const transactionId = await newPayment(service);
  const fields = { transactionId, amount: '1', currency: 'usd', reason: 'other', metadata: '' };
  const form = { ...fields, formKey: randomUUID(), step: 'confirm' };
  // Larger than other forms may be.
  const file = `transactionId,amount,reason\n${transactionId},1.00,other${'\nch_1,0.00,other'.repeat(5_000)}`;
  const asked = await owner.visitor.post(`${pages}/refunds/new`, form);
  expect(asked.text).toContain(question);
  const create = `${pages}/batches/new/create`;
  const reviewed = await reviewUpload(owner.visitor, pages, file);
  const sending = await sendReviewed(owner.visitor, pages, reviewed);
  expect(sending.text).toContain(question);
  const { db } = service.deps;
  const count = async () => [
    await db.refund.count({ where: { transactionId } }),
    await db.refundBatchRow.count({ where: { transactionId } }),
  ];
  expect(await count()).toEqual([0, 0]);
  expect((await answer(sending, { current: owner.password }, create)).status).toBe(303);
  expect((await answer(asked, {}, `${pages}/refunds/new`)).status).toBe(303);
  expect(await count()).toEqual([1, 1]);
});

describe('a user without a second factor', () => {
  test('enters the password, and the form is carried out as it was entered', async () => {
    const asked = await owner.visitor.post(apiKeys, newKey('Kept <name>'));
    const wrong = await answer(asked, { current: 'not the password' });
    expect(wrong).toMatchObject({ status: 403, text: expect.stringContaining('password is incorrect') });
    expect(await keysNamed('Kept <name>')).toBe(0);
    const done = await answer(wrong, { current: owner.password });
    expect(done.text).toContain('API key created');
    expect(await keysNamed('Kept <name>')).toBe(1);
  });

  test('sends a second held form as it was entered after confirming the first', async () => {
    const [first, second] = [
      await owner.visitor.post(apiKeys, newKey('Held first')),
      await owner.visitor.post(apiKeys, newKey('Held second')),
    ];
    await answer(first, { current: owner.password });
    expect((await answer(second, { current: 'not needed' })).text).toContain('API key created');
    expect(await keysNamed('Held second')).toBe(1);
  });
});

describe('a user with a second factor', () => {
  test('enters a code or a recovery code, each once, and the password does not do', async () => {
    const first = await owner.visitor.post(secondFactorPath);
    await answer(first, { current: owner.password }, secondFactorPath);
    const app = await setUpSecondFactor(owner.visitor, time);
    await time.advance(service.ownerDb, 11 * minuteMs);
    const code = app.code();
    const asked = await owner.visitor.post(apiKeys, newKey('With code'));
    const refused = await answer(asked, { current: owner.password });
    expect(refused.text).toContain('Is incorrect or was used before.');
    expect((await answer(refused, { code })).text).toContain('API key created');
    await time.advance(service.ownerDb, 11 * minuteMs);
    const [recovery = ''] = app.recoveryCodes;
    const again = await owner.visitor.post(apiKeys, newKey('With recovery code'));
    expect((await answer(again, { code })).text).toContain('Is incorrect or was used before.');
    expect((await answer(again, { code: recovery })).text).toContain('API key created');
    await time.advance(service.ownerDb, 11 * minuteMs);
    const last = await owner.visitor.post(apiKeys, newKey('Never made'));
    expect((await answer(last, { code: recovery })).status).toBe(403);
    expect(await keysNamed('Never made')).toBe(0);
  });

  test('cannot go around it by changing the password', async () => {
    const first = await owner.visitor.post(secondFactorPath);
    await answer(first, { current: owner.password }, secondFactorPath);
    await setUpSecondFactor(owner.visitor, time);
    await time.advance(service.ownerDb, 11 * minuteMs);
    const change = { current: owner.password, next: 'a quite different password' };
    const asked = await owner.visitor.post('/dashboard/you/password', change);
    expect(asked.text).toContain(question);
    expect((await new DashboardVisitor(service).signIn(owner.email, owner.password)).status).toBe(200);
  });
});

describe('the largest form', () => {
  /** A form that comes to this many bytes as JSON, with the CSRF token of the last page. */
  const formOf = (name: string, bytes: number) => {
    const fields = { ...newKey(name), _csrf: owner.visitor.csrfToken, padding: '' };
    return { ...fields, padding: 'x'.repeat(bytes - JSON.stringify(fields).length) };
  };

  test('is held until the confirmation', async () => {
    const asked = await owner.visitor.post(apiKeys, formOf('Largest', 64 * 1024));
    expect(asked.text).toContain(question);
    await answer(asked, { current: owner.password });
    expect(await keysNamed('Largest')).toBe(1);
  });

  test.each(['not been', 'been'])('is no larger when the session has %s confirmed', async (has) => {
    if (has === 'been') {
      const asked = await owner.visitor.post(apiKeys, newKey('Before'));
      await answer(asked, { current: owner.password });
    }
    const refused = await owner.visitor.post(apiKeys, formOf('Too large', 64 * 1024 + 1));
    expect(refused).toMatchObject({ status: 413, text: expect.stringContaining('The form exceeds 64 KiB') });
    expect(await keysNamed('Too large')).toBe(0);
  });
});

test('a part of a page asks in its place', async () => {
  const headers = { 'hx-request': 'true', 'hx-target': 'div#api-keys' };
  const asked = await owner.visitor.post(apiKeys, newKey('In its place'), { headers });
  expect(asked.text).toMatch(/^<section id="api-keys"/);
  expect(asked.text).toContain('hx-target="#api-keys"');
  const fields = { held: hiddenField(asked.text, 'held'), current: owner.password };
  const done = await owner.visitor.post(apiKeys, fields, { headers });
  expect(done.text).toMatch(/^<div id="api-keys".*API key created/s);
});

test('the confirmation page shows no submitted credentials', async () => {
  ownAddressAt(service.sandboxUrl);
  const url = filled('/settings/accounts/new/stripe');
  const secretKey = 'sk_test_EnteredOnce';
  const asked = await owner.visitor.post(url, { accountId: newId('acc'), name: 'another', secretKey });
  expect(asked.text).not.toContain('EnteredOnce');
  expect(asked.text).not.toContain(Buffer.from(secretKey).toString('base64url'));
  const done = await answer(asked, { current: owner.password }, url);
  expect(done.done).toBe('credentials-saved');
});

test('a held form cannot be sent elsewhere, by another session, changed or late', async () => {
  const asked = await owner.visitor.post(apiKeys, newKey('Moved'));
  const held = hiddenField(asked.text, 'held');
  const live = apiKeys.replace('/test/', '/live/');
  const other = await signInMember(service, 'admin');
  await time.advance(service.ownerDb, 11 * minuteMs);
  const sent: [DashboardVisitor, string, string, string][] = [
    [owner.visitor, live, held, owner.password],
    [other.visitor, apiKeys, held, other.password],
    [owner.visitor, apiKeys, `${held.slice(0, -2)}AA`, owner.password],
  ];
  for (const [visitor, url, given, current] of sent) {
    const page = await visitor.post(url, { held: given, current });
    expect(page).toMatchObject({ status: 403, text: expect.stringContaining('This form has expired.') });
  }
  await time.advance(service.ownerDb, 5 * minuteMs);
  expect((await answer(asked, { current: owner.password })).text).toContain('This form has expired.');
  expect(await keysNamed('Moved')).toBe(0);
});
