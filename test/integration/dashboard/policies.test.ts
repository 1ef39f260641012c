import { beforeAll, beforeEach, describe, expect, test, vi } from 'vitest';
import { lockOrganization } from '#shared/platform/organization.ts';
import { type PolicyInput, policySchema } from '#shared/policies/policy.ts';
import { listPolicies, setPolicies } from '#shared/policies/stored-policies.ts';
import { signInMember } from '../../support/dashboard/dashboard-member.ts';
import type { DashboardVisitor, Page } from '../../support/dashboard/dashboard-visitor.ts';
import { type SentField, sentForm } from '../../support/dashboard/sent-form.ts';
import { newPerson } from '../../support/people.ts';
import { newRefund } from '../../support/refunds/new-refund.ts';
import { useService } from '../../support/use-service.ts';
import { waitFor } from '../../support/wait-for.ts';

const service = useService({ workers: 0 });
let base: string;
let admin: DashboardVisitor;

/** A policy that uses every field. */
const full = {
  name: 'Everything "said" & done',
  priority: 3,
  match: {
    processors: ['braintree'],
    currencies: ['bhd', 'kwd'],
    reasons: ['duplicate_charge', 'other'],
    amount: { min: 1_005, max: 9_000_000 },
    metadata: { category: 'gift_card', code: '5', count: 5, 'is <b>': true, off: false },
  },
  windowDays: 30,
  maxPercent: 80,
  maxAmount: { amount: 50_000, currency: 'jpy' },
  finalSale: true,
  approvalAbove: { api: 0, dashboard: 20_000, mcp: 1 },
  approvalAbovePerRequesterDay: { api: 3, dashboard: 0, mcp: 2 },
  velocity: {
    perTransaction: 3,
    perDay: { count: 200, amount: 1_000_000 },
    perRequesterDay: { count: 20, amount: 100_000 },
  },
  holdSeconds: { api: 0, dashboard: 120, mcp: 45 },
  enforce: { api: true, dashboard: true },
} satisfies PolicyInput;
const empty = { name: 'Nothing said', priority: 90 };
const parsed = (...policies: PolicyInput[]) => policies.map((policy) => policySchema.parse(policy));

const store = (...policies: object[]) =>
  setPolicies(service.deps, {
    organizationId: service.organization.id,
    file: { policies },
    actor: 'test',
  });
const stored = () => listPolicies(service.deps.db, service.organization.id);
const auditEntries = () =>
  service.deps.db.auditLog.findMany({ where: { action: 'policies.set' }, orderBy: { createdAt: 'desc' } });

beforeAll(async () => {
  base = `/dashboard/${service.organization.id}/test`;
  ({ visitor: admin } = await signInMember(service, 'admin'));
  // Can approve what the admin requests.
  await newPerson(service.deps, service.organization.id, 'operator');
});
beforeEach(() => store(full, empty));

/** The form as a browser sends it from the page of a policy, or of a new one, with other values in some fields. */
async function opened(name: string | null, values: Record<string, string> = {}): Promise<SentField[]> {
  const { text } = await admin.get(
    `${base}/policies/${name === null ? 'new' : `edit?name=${encodeURIComponent(name)}`}`,
  );
  return [...without(formIn({ text }), Object.keys(values)), ...Object.entries(values)];
}
const formIn = ({ text }: Pick<Page, 'text'>) => sentForm(text, /action="[^"]*\/policies"/);
const without = (form: SentField[], names: string[]) => form.filter(([name]) => !names.includes(name));

const send = (path: '' | '/replay' | '/delete', form: SentField[]): Promise<Page> =>
  admin.post(`${base}/policies${path}`, form);

describe('the cards', () => {
  test('show the policies in their order, to viewers without actions', async () => {
    const { text } = await (await signInMember(service, 'viewer')).visitor.get(`${base}/policies`);
    expect(text.indexOf('Everything &quot;said&quot;')).toBeGreaterThan(0);
    expect(text.indexOf('Nothing said')).toBeGreaterThan(text.indexOf('Everything &quot;said&quot;'));
    expect(text).toContain('Final sale: no refunds.');
    expect(text).toContain('Refunds in the dashboard are held for 2 minutes before they are sent.');
    expect(text).not.toMatch(/Add policy|policies\/(edit|delete)/);
  });

  test.each([
    ['of its one currency', ['usd'], '50.00 USD'],
    ['of each of its currencies', ['usd', 'jpy'], '5,000 JPY or 50.00 USD'],
    ['in every currency', undefined, '50.00 USD, or 5,000 JPY where a currency has no decimals'],
  ])('show a threshold as an amount %s', async (_, currencies, words) => {
    const match = { currencies, amount: { min: 5_000, max: 5_000 } };
    const day = { amount: 5_000 };
    const rules = {
      approvalAbove: { api: 5_000 },
      approvalAbovePerRequesterDay: { dashboard: 5_000 },
      velocity: { perDay: day, perRequesterDay: day },
    };
    await store({ name: 'A', priority: 1, match, ...rules });
    const { text } = await admin.get(`${base}/policies`);
    expect(text).toContain(`from ${words}, up to ${words} (priority 1).<`);
    expect(text).toContain(`${words} in 24 hours, ${words} per requester in 24 hours.<`);
    expect(text).toContain(`Refunds above ${words} by API require approval.<`);
    expect(text).toContain(
      `in the dashboard require approval once those of their requester come to more than ${words} in 24 hours.<`,
    );
  });

  test('mark policies after one that applies to every refund as never applied', async () => {
    const marked = async () => (await admin.get(`${base}/policies`)).text.split('Never applied').length - 1;
    expect(await marked()).toBe(0);
    await store(full, { ...empty, priority: 1 });
    expect(await marked()).toBe(1);
  });
});

describe('the form of a policy', () => {
  test.each<[string, PolicyInput[]]>([
    ['that uses every field', [full, empty]],
    [
      'that was written in another order and with null values',
      [
        {
          ...empty,
          match: { reasons: ['other', 'duplicate_charge'], currencies: ['usd', 'EUR'] },
          approvalAbove: { api: 5, dashboard: null },
        },
      ],
    ],
  ])('%s saves nothing when it is sent unchanged', async (_, policies) => {
    await store(...policies);
    const rows = () => service.deps.db.policy.findMany({ orderBy: { id: 'asc' } });
    const before = [await rows(), await auditEntries()];
    const { status, headers, done } = await send('', await opened(policies[0]?.name ?? ''));
    expect([status, headers.location, done]).toEqual([303, `${base}/policies`, 'policies-saved']);
    expect([await rows(), await auditEntries()]).toEqual(before);
    expect(await stored()).toEqual(parsed(...policies));
  });

  test('shows amounts in decimals of their currency, and saves them in minor units', async () => {
    const form = await opened(full.name);
    expect(form).toContainEqual(['match.amount.min', '1.005']);
    expect(form).toContainEqual(['maxAmount.amount', '50000']);
    const values = {
      ...{ amountsIn: 'jpy', 'match.currencies': 'JPY', 'approvalAbove.mcp': '50.00' },
      ...{ 'maxAmount.amount': '12.5', 'maxAmount.currency': 'Eur' },
    };
    await send('', await opened(empty.name, values));
    expect((await stored())[1]).toMatchObject({
      match: { currencies: ['jpy'] },
      approvalAbove: { mcp: 50n },
      maxAmount: { amount: 1_250n, currency: 'eur' },
    });
  });

  test('saves one policy with another name and priority at once, and the audit log has who did it', async () => {
    const form = await opened(empty.name, { name: 'Renamed', priority: '1', windowDays: '14' });
    expect((await send('', form)).status).toBe(303);
    expect(await stored()).toEqual(parsed({ name: 'Renamed', priority: 1, windowDays: 14 }, full));
    const [entry] = await auditEntries();
    expect(entry).toMatchObject({
      actor: expect.stringMatching(/^user:usr_/),
      target: service.organization.id,
      detail: { policies: [{ name: full.name }, { name: 'Renamed' }] },
    });
  });

  test('adds a policy before the others, with metadata of every type', async () => {
    const values = { name: 'New one', 'match.metadata': '{"vip": true, "n": 1.5, "kind": "a"}' };
    expect((await send('', await opened(null, values))).status).toBe(303);
    const match = { metadata: { vip: true, n: 1.5, kind: 'a' } };
    expect(await stored()).toEqual(parsed({ name: 'New one', priority: 0, match }, full, empty));
  });

  test.each<[entered: Record<string, string>, field: string, words: string]>([
    [{ priority: '' }, 'priority', 'Must be a whole number from 0 to 1000000.'],
    [{ 'approvalAbove.api': '10.505' }, 'approvalAbove.api', 'or 1050 for JPY'],
    [{ 'maxAmount.amount': '0' }, 'maxAmount.amount', 'Must be greater than 0.'],
    [{ 'maxAmount.amount': '1', 'maxAmount.currency': 'xyz' }, 'maxAmount.currency', 'ISO 4217'],
    [{ 'match.currencies': ',' }, 'match.currencies', 'Must not be empty'],
    [{ 'match.amount.min': '2', 'match.amount.max': '1' }, 'match.amount.min', 'Min must not be greater'],
    [{ name: full.name }, 'name', 'Two policies are named'],
    [
      { amountsIn: 'jpy', 'match.currencies': 'usd', 'approvalAbove.api': '5' },
      'amountsIn',
      'Must be one of',
    ],
    [{ amountsIn: 'euros', 'approvalAbove.api': '5' }, 'amountsIn', 'Must be a currency'],
    [{ 'match.metadata': '{"a":' }, 'match.metadata', 'Not valid JSON.'],
    [{ 'match.metadata': '{"a": 1, "a": 2}' }, 'match.metadata', 'twice'],
    [{ 'match.processors': 'paypal' }, 'match.processors', 'Unknown processor'],
  ])('rejects %j at the field and keeps what was entered', async (values, field, words) => {
    for (const path of ['', '/replay'] as const) {
      const page = await send(path, await opened(empty.name, values));
      expect(page.status).toBe(400);
      expect(page.text).toContain('Fix the highlighted fields.');
      const [, problem] = new RegExp(`id="${field}-problem">([^<]*)<`).exec(page.text) ?? [];
      expect(problem).toContain(words);
      for (const entry of field === 'match.processors' ? [] : Object.entries(values))
        expect(formIn(page)).toContainEqual(entry);
    }
    expect(await stored()).toEqual(parsed(full, empty));
  });

  test('of a policy that does not exist is not found', async () => {
    expect((await admin.get(`${base}/policies/edit?name=Other`)).status).toBe(404);
    expect((await admin.get(`${base}/policies/edit`)).status).toBe(404);
  });
});

describe('the rows of the form', () => {
  /** The titles of those that can be added, and the fields in the others. */
  const rowsOf = (text: string) => {
    const parts = text.split(/<details class="more added">(.*?)<\/details>/s);
    return {
      offered: parts.flatMap((part, index) => (index % 2 === 1 ? [/<summary>(.*?)</.exec(part)?.[1]] : [])),
      shown: parts.filter((_, index) => index % 2 === 0).join(''),
    };
  };

  test('are shown once they have something, and are offered one by one otherwise', async () => {
    await store(full, { ...empty, windowDays: 14, maxPercent: 80 });
    const bare = rowsOf((await admin.get(`${base}/policies/edit?name=Nothing+said`)).text);
    expect(bare.offered).toHaveLength(14);
    for (const field of ['windowDays', 'maxPercent']) expect(bare.shown).toContain(`name="${field}"`);
    expect(bare.shown).not.toContain('name="velocity.perTransaction"');
    const { text } = await admin.get(`${base}/policies/edit?name=${encodeURIComponent(full.name)}`);
    expect(rowsOf(text).offered).toEqual([]);
  });

  test('are shown with what is wrong with them', async () => {
    const page = await send('', await opened(empty.name, { 'velocity.perTransaction': 'few' }));
    expect(rowsOf(page.text).shown).toContain('id="velocity.perTransaction-problem"');
  });
});

test('a threshold that no one can approve is saved once the admin has seen that, and what to do', async () => {
  const { id } = await service.addOrganization('Alone');
  const { visitor: owner } = await signInMember(service, 'owner', id);
  const policies = `/dashboard/${id}/test/policies`;
  const { text } = await owner.get(`${policies}/new`);
  const form: SentField[] = [
    ...without(formIn({ text }), ['name', 'approvalAbove.dashboard', 'amountsIn']),
    ...Object.entries({ name: 'Ask', 'approvalAbove.dashboard': '50', amountsIn: 'usd' }),
  ];
  const warned = await owner.post(policies, form);
  expect(warned.status).toBe(400);
  for (const words of ['No one can approve', 'No other member can approve.', 'Save anyway']) {
    expect(warned.text).toContain(words);
  }
  for (const page of ['members', 'approvals']) {
    expect(warned.text).toContain(`href="/dashboard/${id}/test/settings/${page}"`);
  }
  const names = async () => (await listPolicies(service.deps.db, id)).map(({ name }) => name);
  expect(await names()).not.toContain('Ask');
  expect((await owner.post(policies, formIn(warned))).status).toBe(303);
  expect(await names()).toContain('Ask');
  // It is not said again of a threshold that is stored.
  const edited = formIn(await owner.get(`${policies}/edit?name=Ask`));
  const changed: SentField[] = [...without(edited, ['windowDays']), ['windowDays', '7']];
  expect((await owner.post(policies, changed)).status).toBe(303);
});

describe('deleting a policy', () => {
  test('asks in a dialog and leaves the other policies', async () => {
    const { text } = await admin.get(`${base}/policies`);
    expect(text).toMatch(/<dialog id="delete-0"[^>]*>.*Delete “Everything &quot;said&quot; &amp; done”\?/);
    expect((await send('/delete', sentForm(text, /policies\/delete"/))).status).toBe(303);
    expect(await stored()).toEqual(parsed(empty));
  });

  test('is not offered for the last policy', async () => {
    await store(empty);
    expect((await admin.get(`${base}/policies`)).text).not.toContain('/policies/delete');
  });
});

describe('a concurrent change', () => {
  test.each(['', '/replay'] as const)('is not overwritten by an older form sent to %j', async (path) => {
    const form = await opened(empty.name, { windowDays: '7' });
    await store({ ...full, windowDays: 99 }, empty);
    const late = await send(path, form);
    expect(late.status).toBe(409);
    expect(late.text).toContain('Someone else changed the policies. Reload and try again.');
    expect(formIn(late)).toContainEqual(['windowDays', '7']);
    expect(await stored()).toEqual(parsed({ ...full, windowDays: 99 }, empty));
  });

  test('by two admins at the same moment saves one and refuses the other', async () => {
    const forms = [
      await opened(full.name, { windowDays: '7' }),
      await opened(empty.name, { windowDays: '7' }),
    ];
    const { visitor: second } = await signInMember(service, 'admin');
    await second.get(`${base}/policies/new`);
    const before = (await auditEntries()).length;
    const { saving } = await service.deps.db.$transaction(async (tx) => {
      await lockOrganization(tx, service.organization.id);
      const saving = [admin, second].map((each, index) => each.post(`${base}/policies`, forms[index]));
      await waitFor('both to wait for the lock', async () => {
        // Not in the transaction, which keeps its first snapshot of the activity.
        const waiting = await service.deps.db.$queryRaw<unknown[]>`
          SELECT FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`;
        return waiting.length === 2;
      });
      return { saving };
    });
    const answers = await Promise.all(saving);
    expect(answers.map(({ status }) => status).toSorted()).toEqual([303, 409]);
    const changed = (await stored()).map(({ windowDays }) => windowDays === 7);
    expect(changed).toEqual(answers.map(({ status }) => status === 303));
    expect(await auditEntries()).toHaveLength(before + 1);
  });

  test.each<[string, string | null, Record<string, string>]>([
    ['a new policy', null, { name: 'New' }],
    ['a renamed policy', empty.name, { name: 'Renamed' }],
    ['an edited policy', full.name, { windowDays: '7' }],
  ])('is not reported when %s is sent twice, and it is saved once', async (_, name, values) => {
    const form = await opened(name, values);
    const before = (await auditEntries()).length;
    for (const _time of ['first', 'second']) expect((await send('', form)).status).toBe(303);
    expect(await auditEntries()).toHaveLength(before + 1);
    expect(await stored()).toHaveLength(name === null ? 3 : 2);
  });
});

describe('blocking what a policy denies', () => {
  const nothingIsBlocked = 'Nothing is blocked by API or in the dashboard.';
  const open = { name: 'Open', priority: 1, windowDays: 30 };
  const page = async () => (await admin.get(`${base}/policies`)).text;
  const blockLinks = async () =>
    [...(await page()).matchAll(/href="([^"]*&amp;block=\w+)"/g)].map(([, to = '']) =>
      to.replaceAll('&amp;', '&'),
    );
  const block = async (link = '') => {
    const page = await admin.get(link);
    expect(page.text).toContain('Replay of the last 90 days');
    return await send('', formIn(page));
  };

  test('is a link to the form for each way in which nothing is blocked, which the page says', async () => {
    await store(open, empty);
    expect(await page()).toContain(nothingIsBlocked);
    expect(await page()).toContain(
      'are blocked when requested by agents, but not by API or in the dashboard.<',
    );
    const [byApi, inDashboard] = await blockLinks();
    expect((await block(byApi)).status).toBe(303);
    expect(await stored()).toEqual(parsed({ ...open, enforce: { api: true } }, empty));
    expect(await page()).not.toContain(nothingIsBlocked);
    expect(await blockLinks()).toEqual([inDashboard]);
    await block(inDashboard);
    expect(await page()).toContain(
      'Denied refunds are blocked when requested by API, in the dashboard or by agents.<',
    );
  });

  test('opens without a replay while others are running', async () => {
    await store(open);
    const [link = ''] = await blockLinks();
    let time = 0;
    // Whatever waits has waited too long.
    const now = vi.spyOn(performance, 'now').mockImplementation(() => {
      time += 60_000;
      return time;
    });
    const page = await admin.get(link);
    now.mockRestore();
    expect([page.status, page.text]).toEqual([200, expect.stringContaining('are still running.')]);
    expect(formIn(page)).toContainEqual(['enforce.api', 'yes']);
  });
});

describe('a replay', () => {
  const blocked = { finalSale: true, enforce: { api: true } };

  test.each<[stored: object, edited: Record<string, string>, outcomes: string[]]>([
    [{}, { windowDays: '5' }, []],
    [{}, { 'approvalAbove.api': '10' }, ['Allowed', 'Requires approval']],
    [blocked, { 'enforce.api': '' }, ['Blocked', 'Denied, but still created']],
    [blocked, { windowDays: '5' }, ['Blocked']],
  ])('of %j edited to %j shows the outcomes %j and saves nothing', async (rules, edited, outcomes) => {
    await store(empty);
    const { id } = await newRefund(service, { amount: 1_500 });
    const current = { ...empty, ...rules };
    await store(current);
    const page = await send('/replay', await opened(empty.name, edited));
    expect(page.status).toBe(200);
    const entry = page.text.split('<li class="stack-tight">').find((each) => each.includes(id)) ?? '';
    const badges = [...entry.matchAll(/class="badge"[^>]*>([^<]+)</g)].map(([, words]) => words);
    expect(badges).toEqual(outcomes);
    const all = await service.deps.db.refund.count();
    expect(page.text).toContain(`${outcomes.length === 2 ? all : 0} would get a different decision`);
    expect(page.text).toContain(
      `Would have blocked ${outcomes.at(-1) === 'Blocked' ? all : 0} of ${all} test refunds`,
    );
    for (const field of Object.entries(edited)) expect(formIn(page)).toContainEqual(field);
    expect(await stored()).toEqual(parsed(current));
  });

  test('counts the refunds of test and live, which both change', async () => {
    await newRefund(service, { amount: 1_500 });
    const live = base.replace(/test$/, 'live');
    const form = formIn(await admin.get(`${live}/policies/edit?name=${encodeURIComponent(empty.name)}`));
    const { text } = await admin.post(`${live}/policies/replay`, form);
    const inTest = await service.deps.db.refund.count({ where: { environment: 'test' } });
    expect([...text.matchAll(/of (\d+ \w+) refunds/g)].map(([, counted]) => counted)).toEqual([
      '0 live',
      `${inTest} test`,
    ]);
    expect(text).toContain('Saving affects new refunds in test and live at once.');
  });

  test('that follows the form is a part of the page, or says what is wrong with a field', async () => {
    const part = async (windowDays: string) => {
      const form = await opened(empty.name, { windowDays });
      return await admin.post(`${base}/policies/replay`, form, { headers: { 'hx-request': 'true' } });
    };
    expect((await part('5')).text).toMatch(/^<section[^>]*aria-labelledby="replay-test"/);
    expect((await part('x')).text).toContain('No replay. Refund window (days): Must be a whole number');
  });
});
