import { beforeEach, describe, expect, test } from 'vitest';
import type { PolicyInput } from '../../../shared/policies/policy.ts';
import { policySchema } from '../../../shared/policies/policy.ts';
import { insertPolicies, listPolicies, setPolicies } from '../../../shared/policies/stored-policies.ts';
import { signInMember } from '../../support/dashboard/dashboard-member.ts';
import type { DashboardVisitor, Page } from '../../support/dashboard/dashboard-visitor.ts';
import { type SentField, sentForm } from '../../support/dashboard/sent-form.ts';
import { useService } from '../../support/use-service.ts';

const service = useService({ workers: 0 });
let base: string;
let admin: DashboardVisitor;

/** A policy that says everything that one can. */
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
  velocity: { perTransaction: 3, perDay: { count: 200, amount: 1_000_000 } },
  enforce: { api: true, dashboard: true },
} satisfies PolicyInput;
const empty = { name: 'Nothing said', priority: 90 };
const held = [full, empty];

const hold = (policies: object[]) =>
  setPolicies(service.deps, {
    organizationId: service.organization.id,
    file: { policies },
    actor: 'test',
  });
const holding = () => listPolicies(service.deps.db, service.organization.id);

beforeEach(async () => {
  base = `/dashboard/${service.organization.id}/test`;
  ({ visitor: admin } = await signInMember(service, 'admin'));
  await hold(held);
});

const editor = /id="editor"/;
const opened = async () => sentForm((await admin.get(`${base}/policies`)).text, editor);

/** The same form with other values in some fields; one that is null is not sent. */
function filled(form: SentField[], values: Record<string, string | null>): SentField[] {
  const kept = form.filter(([name]) => !(name in values));
  return [
    ...kept,
    ...Object.entries(values).flatMap(([name, value]) =>
      value === null ? [] : [[name, value] as SentField],
    ),
  ];
}

const send = (path: string, form: SentField[], headers = {}): Promise<Page> =>
  admin.post(`${base}/policies${path}`, form, { headers });

/** Previews, and confirms what the page then asks to confirm. */
async function save(form: SentField[]): Promise<Page> {
  const preview = await send('/preview', form);
  expect(preview.status).toBe(200);
  return await send('', sentForm(preview.text, /action="[^"]*\/policies"/));
}

/** The names of the policies of a form, in their order. */
const namesIn = (form: SentField[]) =>
  form.filter(([name]) => /^policies\.\d+\.name$/.test(name)).map(([, value]) => value);
const valueIn = (form: SentField[], field: string) => form.find(([name]) => name === field)?.[1];

describe('the form', () => {
  test('holds all that a policy can say, and untouched there is nothing to confirm or to write', async () => {
    const form = await opened();
    expect(namesIn(form)).toEqual([full.name, empty.name]);
    expect(valueIn(form, 'policies.0.match.amount.min')).toBe('1.005');
    expect(valueIn(form, 'policies.0.maxAmount.amount')).toBe('50000');
    expect(valueIn(form, 'policies.0.approvalAbove.api')).toBe('0.000');
    const preview = await send('/preview', form);
    expect(preview.text).toContain('Nothing: these are the policies that hold.');
    expect(preview.text).not.toContain('Save the policies');
    const written = () => service.deps.db.policy.findMany({ orderBy: { id: 'asc' } });
    const audited = () => service.deps.db.auditLog.count({ where: { action: 'policies.set' } });
    const before = [await written(), await audited()];
    expect((await send('', form)).status).toBe(303);
    expect([await written(), await audited()]).toEqual(before);
    expect(await holding()).toEqual(held.map((policy) => policySchema.parse(policy)));
  });

  test('tells of another priority, also where the order stays', async () => {
    const file = JSON.stringify({ policies: [full, { ...empty, priority: 91 }] });
    const [madeFrom = ['madeFrom', '']] = (await opened()).filter(([name]) => name === 'madeFrom');
    const { text } = await send('/preview', [madeFrom, ['file', file]]);
    expect(text).not.toContain('Nothing: these');
    expect(text).toMatch(/<dt>Priority<\/dt><dd><ins>91<\/ins>.*?<del>90<\/del>/);
    expect(text).not.toContain('another order');
    expect(text).not.toContain(`Changed: ${full.name.slice(0, 10)}`);
    expect((await save([madeFrom, ['file', file]])).status).toBe(303);
    expect((await holding())[1]?.priority).toBe(91);
  });

  test('says of no policy that it changed as long as nobody touched it, however it was written', async () => {
    const approvalAbove = { api: 5, dashboard: null };
    await hold([
      {
        ...empty,
        approvalAbove,
        match: { reasons: ['other', 'duplicate_charge'], currencies: ['usd', 'EUR'] },
      },
    ]);
    const { text } = await admin.get(`${base}/policies`);
    expect(text).not.toContain('Changed');
    const preview = await send('/preview', await opened());
    expect(preview.text).toContain('Nothing: these are the policies that hold.');
  });

  test('writes amounts in decimals of their currency', async () => {
    const form = filled(await opened(), {
      'policies.1.amountsIn': 'jpy',
      'policies.1.match.currencies': 'JPY',
      'policies.1.approvalAbove.mcp': '50.00',
      'policies.1.maxAmount.amount': '12.5',
      'policies.1.maxAmount.currency': 'Eur',
    });
    expect((await save(form)).status).toBe(303);
    expect((await holding())[1]).toMatchObject({
      match: { currencies: ['jpy'] },
      approvalAbove: { mcp: 50n },
      maxAmount: { amount: 1_250n, currency: 'eur' },
    });
  });

  test('is answered with what becomes of the policies before anything does', async () => {
    const form = filled(await opened(), {
      'policies.0.windowDays': '14',
      'policies.1.name': 'Something said',
    });
    const { text } = await send('/preview', form);
    expect(text).toContain(`Removed: ${empty.name}`);
    expect(text).toContain('Added: Something said');
    expect(text).toContain('Save the policies');
    expect(await holding()).toEqual(held.map((policy) => policySchema.parse(policy)));
    expect((await save(form)).status).toBe(303);
    expect((await holding()).map(({ name }) => name)).toEqual([full.name, 'Something said']);
  });

  test.each<[entered: Record<string, string>, field: string, words: string]>([
    [{ windowDays: 'thirty' }, 'windowDays', 'Must be a whole number of days from 1 to 36500.'],
    [{ maxPercent: '101' }, 'maxPercent', 'Must be a whole number of percent from 1 to 100.'],
    [{ 'velocity.perDay.count': '-1' }, 'velocity.perDay.count', 'Must be a whole number of refunds'],
    [{ 'approvalAbove.api': '10.505' }, 'approvalAbove.api', 'Enter a number in decimals of the currency'],
    [{ 'approvalAbove.api': '1e3' }, 'approvalAbove.api', 'Enter a number in decimals of the currency'],
    [{ 'approvalAbove.mcp': '-1' }, 'approvalAbove.mcp', 'Must not be negative.'],
    [{ 'maxAmount.amount': '0' }, 'maxAmount.amount', 'Has to be more than nothing.'],
    [{ 'velocity.perDay.amount': '9'.repeat(18) }, 'velocity.perDay.amount', 'Is more than any payment.'],
    [{ 'maxAmount.amount': '1', 'maxAmount.currency': 'xyz' }, 'maxAmount.currency', 'ISO 4217'],
    [{ 'match.currencies': 'usd, dollars' }, 'match.currencies', 'ISO 4217'],
    [
      { 'match.amount.min': '2', 'match.amount.max': '1' },
      'match.amount.min',
      'Min must not be greater than max.',
    ],
    [{ name: '' }, 'name', 'Must not be empty.'],
    [{ name: full.name }, 'name', 'Two policies are named'],
    [
      { amountsIn: 'jpy', 'match.currencies': 'usd', 'approvalAbove.api': '5' },
      'amountsIn',
      'one of the currencies',
    ],
    [
      { amountsIn: 'usd', 'match.currencies': ', jpy', 'approvalAbove.api': '50.00' },
      'amountsIn',
      'one of the currencies',
    ],
    [{ 'match.currencies': ',' }, 'match.currencies', 'Must not be empty'],
    [{ amountsIn: 'euros', 'approvalAbove.api': '5' }, 'amountsIn', 'Has to be a currency'],
    [
      { 'match.metadata.0.key': 'a', 'match.metadata.0.kind': 'number', 'match.metadata.0.value': 'five' },
      'match.metadata',
      'has to be a number',
    ],
    [
      { 'match.metadata.0.key': 'a', 'match.metadata.0.kind': 'boolean', 'match.metadata.0.value': 'maybe' },
      'match.metadata',
      'has to be yes or no',
    ],
    [
      {
        ...{ 'match.metadata.0.key': 'a', 'match.metadata.0.value': '1' },
        ...{ 'match.metadata.1.key': 'a', 'match.metadata.1.value': '2' },
      },
      'match.metadata',
      'stands twice',
    ],
    [{ 'match.metadata.0.value': '1' }, 'match.metadata', 'The empty text is no key.'],
  ])('tells at the field what is wrong with %j, and keeps it', async (values, field, words) => {
    const own = Object.fromEntries(
      Object.entries(values).map(([name, value]) => [`policies.1.${name}`, value]),
    );
    const form = filled(await opened(), own);
    for (const path of ['/preview', '']) {
      const { status, text } = await send(path, form);
      expect(status).toBe(400);
      const [, told] = new RegExp(`id="policies\\.1\\.${field}-problem">([^<]*)<`).exec(text) ?? [];
      expect(told).toContain(words);
      const again = sentForm(text, editor);
      for (const [name, value] of Object.entries(own)) expect(again).toContainEqual([name, value]);
    }
    expect(await holding()).toEqual(held.map((policy) => policySchema.parse(policy)));
  });

  test.each([
    ['match.processors', 'paypal', 'Unknown processor'],
    ['match.reasons', 'whim', 'Must be one of'],
  ])('takes no other choices than it offers: %s %s', async (field, value, words) => {
    const { status, text } = await send(
      '/preview',
      filled(await opened(), { [`policies.1.${field}`]: value }),
    );
    expect(status).toBe(400);
    const [, told] = new RegExp(`id="policies\\.1\\.${field}-problem">([^<]*)<`).exec(text) ?? [];
    expect(told).toContain(words);
  });

  test('without any policy is refused', async () => {
    const form = (await opened()).filter(([name]) => !name.startsWith('policies.'));
    const { status, text } = await send('/preview', form);
    expect(status).toBe(400);
    expect(text).toContain('without any, every refund would be allowed');
  });
});

describe('more policies than a hundred', () => {
  const atMost = 'must have 100 policies at most';
  const numbered = (count: number) =>
    Array.from({ length: count }, (_, index) => ({ name: `Policy ${index}`, priority: index }));

  test('are refused before any of them is looked at, so that one form does not stop the service', async () => {
    const form = numbered(2_000).map(({ priority }): SentField => [`policies.${priority}.priority`, '']);
    for (const path of ['/edit', '/preview', '']) {
      const { status, text } = await send(path, form);
      expect(status).toBe(400);
      expect(text).toContain(atMost);
      expect(text.length).toBeLessThan(20_000);
    }
  });

  test('are refused as JSON, and a hundred are not', async () => {
    const written = (count: number): SentField[] => [['file', JSON.stringify({ policies: numbered(count) })]];
    const refused = await send('/edit', [...written(101), ['step', 'form']]);
    expect(refused.status).toBe(400);
    expect(refused.text).toMatch(new RegExp(`id="file-problem">[^<]*${atMost}`));
    const { status, text } = await send('/edit', [...written(100), ['step', 'form']]);
    expect(status).toBe(200);
    const full = sentForm(text, editor);
    expect(namesIn(full)).toHaveLength(100);
  });

  test('are not added in the form', async () => {
    const form = numbered(100).map(({ priority }): SentField => [`policies.${priority}.priority`, '']);
    const { status, text } = await send('/edit', [...form, ['step', 'add.0']]);
    expect(status).toBe(400);
    expect(text).toContain(atMost);
    expect(namesIn(sentForm(text, editor))).toHaveLength(100);
  });

  test('that are there nevertheless are shown, and changed on the command line', async () => {
    const { db, clock } = service.deps;
    const more = numbered(100).map((policy) => policySchema.parse(policy));
    await db.$transaction((tx) => insertPolicies(tx, service.organization.id, more, clock.now()));
    const { status, text } = await admin.get(`${base}/policies`);
    expect(status).toBe(200);
    expect(text).toContain('on the command line');
    expect(text).toContain('Policy 99');
    expect(text).not.toContain('id="editor"');
  });
});

test('a form that is too large is told so in words of a form, and where to go on', async () => {
  for (const headers of [{}, { 'hx-request': 'true' }]) {
    const { status, text } = await send('/edit', [['file', ' '.repeat(70_000)]], headers);
    expect(status).toBe(413);
    expect(text).toContain('64 KiB');
    expect(text).toContain('on the command line');
    expect(text).not.toContain('metadata');
  }
});

describe('a button of the form', () => {
  /** What the form holds after some buttons were pressed in it. */
  async function pressed(...steps: string[]): Promise<SentField[]> {
    let form = await opened();
    for (const step of steps) {
      const { status, text } = await send('/edit', [...form, ['step', step]]);
      expect(status).toBe(200);
      form = sentForm(text, editor);
    }
    return form;
  }

  test('moves a policy, and both keep their rules', async () => {
    const form = await pressed('down.0');
    expect(namesIn(form)).toEqual([empty.name, full.name]);
    expect((await save(form)).status).toBe(303);
    expect(await holding()).toEqual([
      policySchema.parse({ ...empty, priority: 3 }),
      policySchema.parse({ ...full, priority: 90 }),
    ]);
    expect(namesIn(await pressed('up.1'))).toEqual([full.name, empty.name]);
  });

  test('moves policies of the same priority, too', async () => {
    await hold(['A', 'B', 'C'].map((name) => ({ name, priority: 0 })));
    const form = await pressed('down.0', 'up.2');
    expect(namesIn(form)).toEqual(['B', 'C', 'A']);
    await save(form);
    expect((await holding()).map(({ name }) => name)).toEqual(['B', 'C', 'A']);
  });

  test('adds a policy before all others, because the first that matches decides', async () => {
    await hold([{ ...empty, priority: 0 }]);
    const form = await pressed('add.0');
    expect(namesIn(form)).toEqual(['', empty.name]);
    await save(filled(form, { 'policies.0.name': 'The newest' }));
    expect((await holding()).map(({ name }) => name)).toEqual(['The newest', empty.name]);
  });

  test('tells of a policy that is never asked, because one above it is for every refund', async () => {
    const marked = async (form: SentField[]) =>
      (await send('/edit', form)).text.split('Never asked').length - 1;
    expect(await marked(await opened())).toBe(0);
    expect(await marked(await pressed('up.1'))).toBe(1);
    expect(await marked(await pressed('add.0'))).toBe(2);
  });

  test('removes a policy from the form, and from what holds only once that is confirmed', async () => {
    const form = await pressed('remove.0');
    expect(namesIn(form)).toEqual([empty.name]);
    expect(await holding()).toHaveLength(2);
    const preview = await send('/preview', form);
    expect(preview.text).toContain('Removed: Everything &quot;said&quot; &amp; done.');
    await save(form);
    expect((await holding()).map(({ name }) => name)).toEqual([empty.name]);
  });

  test('shows the same policies as JSON and back, unfinished ones, too', async () => {
    const json = await pressed('json');
    expect(JSON.parse(valueIn(json, 'file') ?? '').policies[0]).toEqual(full);
    const again = await pressed('json', 'form');
    expect(again).toEqual(await opened());
    const unfinished = filled(await opened(), { 'policies.0.windowDays': 'a month' });
    const { text } = await send('/edit', [...unfinished, ['step', 'json']]);
    const file = valueIn(sentForm(text, editor), 'file') ?? '';
    expect(JSON.parse(file).policies[0].windowDays).toBe('a month');
    const refused = await send('/edit', [
      ['file', file],
      ['step', 'form'],
    ]);
    expect(refused.status).toBe(400);
    expect(valueIn(sentForm(refused.text, editor), 'file')).toBe(file);
  });

  test.each<[lost: string, field: string, values: Record<string, string>]>([
    [
      'one of two values of the same name',
      'match.metadata',
      { 'match.metadata.0.key': 'a', 'match.metadata.0.value': '1', 'match.metadata.1.key': 'a' },
    ],
    [
      'that a value is meant to be a number',
      'match.metadata',
      { 'match.metadata.0.key': 'a', 'match.metadata.0.kind': 'number', 'match.metadata.0.value': 'five' },
    ],
    ['the currency of amounts', 'amountsIn', { amountsIn: 'euros', 'approvalAbove.api': '5' }],
  ])('does not turn the form into JSON where that would lose %s', async (_, field, values) => {
    const own = Object.entries(values).map(([name, value]) => [`policies.1.${name}`, value] as const);
    const form = filled(await opened(), Object.fromEntries(own));
    const { status, text } = await send('/edit', [...form, ['step', 'json']]);
    expect(status).toBe(400);
    expect(text).toContain(`id="policies.1.${field}-problem"`);
    const again = sentForm(text, editor);
    for (const entry of own) expect(again).toContainEqual(entry);
  });

  test('answers with the editor alone where scripts run', async () => {
    const form = await opened();
    const { text } = await send('/edit', [...form, ['step', 'add.0']], { 'hx-request': 'true' });
    expect(text).toMatch(/^<form[^>]*id="editor"/);
    expect(text).toMatch(/autofocus[^>]*value(="")?/);
  });

  test.each(['up.0', 'down.1', 'remove.9', 'up.9999', 'toString.0', 'up', ''])(
    'does no harm: %j',
    async (step) => {
      expect(namesIn(await pressed(step))).toEqual([full.name, empty.name]);
    },
  );

  test.each(['abc', '1.5', '99999999', '-1', ''])(
    'numbers the policies anew after a step where a place is none: %j',
    async (priority) => {
      const forged = filled(await opened(), { 'policies.0.priority': priority });
      for (const step of ['add.0', 'down.0', 'up.1']) {
        const { status, text } = await send('/edit', [...forged, ['step', step]]);
        expect(status).toBe(200);
        const form = sentForm(text, editor);
        const places = namesIn(form).map((_, index) => valueIn(form, `policies.${index}.priority`));
        expect(places).toEqual(['10', '20', '30'].slice(0, places.length));
      }
    },
  );

  test('to go on editing brings everything back from the preview', async () => {
    const form = filled(await opened(), {
      'policies.1.amountsIn': 'JPY',
      'policies.1.approvalAbove.mcp': '50',
    });
    const preview = await send('/preview', form);
    const back = await send('/edit', sentForm(preview.text, /policies\/edit"/));
    expect(new Set(sentForm(back.text, editor).map(String))).toEqual(new Set(form.map(String)));
  });
});

describe('a form that somebody else was quicker than', () => {
  test('comes back with what was entered, beside what holds now, and is saved when it is sent again', async () => {
    const form = filled(await opened(), { 'policies.1.windowDays': '7' });
    await hold([full, { ...empty, windowDays: 99 }]);
    const late = await send('/preview', form);
    expect(late.status).toBe(409);
    expect(late.text).toContain('within 99 days');
    const again = sentForm(late.text, editor);
    expect(valueIn(again, 'policies.1.windowDays')).toBe('7');
    expect((await holding())[1]?.windowDays).toBe(99);
    await save(again);
    expect((await holding())[1]?.windowDays).toBe(7);
  });
});
