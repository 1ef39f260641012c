import { beforeAll, beforeEach, describe, expect, test } from 'vitest';
import type { Refund } from '#shared/platform/database.ts';
import { newId } from '#shared/platform/ids.ts';
import { setProcessorAccount } from '#shared/processors/accounts/manage-accounts.ts';
import { PROCESSORS, type ProcessorName, sandboxCredentials } from '../../sandbox/processors.ts';
import { rawRequest, sendBytes } from '../../support/http/raw-http.ts';
import { expectRefusal } from '../../support/http/refusal.ts';
import {
  braintreeNotification,
  type SignedWebhook,
  signBraintree,
  signStripe,
  stripeEvent,
  webhookAbout,
} from '../../support/processors/signed-webhooks.ts';
import { reportOf, useWebhooks } from '../../support/processors/webhooks.ts';
import { newRefund } from '../../support/refunds/new-refund.ts';
import { untilStatus } from '../../support/refunds/refund-records.ts';
import type { TestOrganization } from '../../support/service.ts';
import { wholeDatabase } from '../../support/stores/database-content.ts';
import { useService } from '../../support/use-service.ts';

const service = useService({ workers: 0, settings: { CREATE_WAIT_MS: 0 } });
const webhooks = useWebhooks(service);

const refunds = {} as Record<ProcessorName, Refund>;
let other: TestOrganization;
let before: string;

// Then no worker runs any more: what changes was changed by a webhook.
beforeAll(async () => {
  await service.sandbox.settings({ autoSettleMs: 0 });
  const worker = service.startWorker();
  for (const processor of PROCESSORS)
    refunds[processor] = await completedRefund(processor, service.organization, 'test');
  await worker.close();
  // The first one that is verified is noted on the account.
  for (const processor of PROCESSORS)
    await webhooks.send(processor, webhookAbout(processor, reportOf(refunds[processor])));
  other = await service.addOrganization('Other');
  await setStripe(other, { webhookSecret: 'whsec_other' });
});
beforeEach(async () => {
  before = await dump();
});

async function completedRefund(
  processor: ProcessorName,
  { keys }: TestOrganization,
  environment: 'test' | 'live',
): Promise<Refund> {
  const sent = { key: keys[environment].plaintext, payment: { environment } };
  const { id } = await newRefund(service, { processor }, sent);
  return await untilStatus(service, id, 'completed');
}

async function setStripe({ id }: TestOrganization, changes: Record<string, unknown>): Promise<void> {
  const { webhookSecret: _, ...credentials } = sandboxCredentials('test', service.sandboxUrl).stripe;
  await setProcessorAccount(service.deps, {
    organizationId: id,
    environment: 'test',
    processor: 'stripe',
    credentials: { ...credentials, ...changes },
    actor: 'test',
  });
}

async function dump(): Promise<string> {
  return await wholeDatabase(service.databaseUrl);
}

/** Sends it as it is, so that headers can be doubled and left out. */
async function sendRaw(url: string, body: string | Uint8Array, headers: readonly string[], method = 'POST') {
  const { port, pathname, host } = new URL(url);
  const lines = [
    `${method} ${pathname} HTTP/1.1`,
    `Host: ${host}`,
    'Connection: close',
    `Content-Length: ${Buffer.byteLength(body)}`,
    ...headers,
  ];
  return await sendBytes(Number(port), rawRequest(lines, body));
}

function linesOf(headers: SignedWebhook['headers']): string[] {
  return Object.entries(headers).map(([name, value]) => `${name}: ${value}`);
}

async function expectRefused(
  url: string,
  { body, headers }: SignedWebhook,
  expected = { status: 400, code: 'invalid_signature' },
): Promise<void> {
  expectRefusal(await sendRaw(url, body, linesOf(headers)), expected);
  expect(await dump()).toBe(before);
}

const event = () => stripeEvent(reportOf(refunds.stripe));
const eventText = () => JSON.stringify(event());
const xml = () => braintreeNotification(reportOf(refunds.braintree));

describe('forged, spoilt and old webhooks change nothing at all', () => {
  const sandboxKeys = { publicKey: 'test_public', privateKey: 'guessed' };
  const growing = '<!DOCTYPE x [<!ENTITY a "b">]><x>&a;</x>';

  test.each<[ProcessorName, string, () => SignedWebhook]>([
    ['stripe', 'a wrong secret', () => signStripe(eventText(), { secret: 'whsec_guessed' })],
    ['stripe', "another organization's secret", () => signStripe(eventText(), { secret: 'whsec_other' })],
    ['braintree', 'a wrong private key', () => signBraintree(xml(), { keys: sandboxKeys })],
    ['braintree', 'entities that would grow, signed well', () => signBraintree(growing)],
  ])('a webhook of %s changes nothing: %s', async (processor, _title, make) => {
    await expectRefused(await webhooks.addressOf(processor), make());
  });

  test('the secret of an account counts as soon as it is replaced, and none once it is removed', async () => {
    const rolled = await service.addOrganization('Rolled');
    const address = await webhooks.addressOf('stripe', 'test', rolled.id);
    const signedWith = (secret: string) =>
      webhooks.send('stripe', signStripe(eventText(), { secret }), address);
    for (const secret of ['whsec_first', 'whsec_second']) {
      await setStripe(rolled, { webhookSecret: secret });
      expect((await signedWith(secret)).status).toBe(200);
    }
    expect((await signedWith('whsec_first')).status).toBe(400);
    await setStripe(rolled, {});
    expect((await signedWith('whsec_second')).status).toBe(400);
  });

  test.each(['stripe', 'braintree'] as const)('%s: more than 256 KiB, signed well', async (processor) => {
    const padding = ' '.repeat(256 * 1024);
    const signed =
      processor === 'stripe' ? signStripe(eventText() + padding) : signBraintree(xml() + padding);
    await expectRefused(await webhooks.addressOf(processor), signed, {
      status: 413,
      code: 'payload_too_large',
    });
  });
});

describe('the address', () => {
  test('of no account, of an account elsewhere, and garbage are answered with the same bytes', async () => {
    const stripe = await webhooks.addressOf('stripe');
    const base = stripe.replace(/[^/]+$/, '');
    const braintreeId = (await webhooks.addressOf('braintree')).split('/').at(-1) ?? '';
    const ids = [newId('acc'), braintreeId, 'acc_%00', 'x'.repeat(5_000)];
    const { body, headers } = signStripe(eventText());
    const answers = [];
    for (const id of ids) answers.push(await sendRaw(`${base}${id}`, body, linesOf(headers)));
    for (const answer of answers) {
      expectRefusal(answer, { status: 404, code: 'not_found' });
      expect(answer.text).toBe(answers[0]?.text);
      expect(Object.keys(answer.headers)).toEqual(Object.keys(answers[0]?.headers ?? {}));
    }
    expect(await dump()).toBe(before);
  });

  test('proves itself to Braintree, and to nobody who asks for something else', async () => {
    const address = await webhooks.addressOf('braintree');
    const ask = async (query: string) => {
      const response = await fetch(`${address}${query}`);
      return { status: response.status, text: await response.text() };
    };
    expect(await ask('?bt_challenge=0123456789abcdef0123')).toEqual({
      status: 200,
      text: expect.stringMatching(/^test_public\|[0-9a-f]{40}$/),
    });
    const wrong = [
      '',
      '?bt_challenge=',
      '?bt_challenge=xyz',
      '?bt_challenge=aaaaaaaaaaaaaaaaaaaa&bt_challenge=b',
    ];
    for (const query of wrong) expect(await ask(query)).toMatchObject({ status: 400 });
    const unknown = await fetch(
      `${address.replace(/acc_.*/, newId('acc'))}?bt_challenge=0123456789abcdef0123`,
    );
    expect(unknown.status).toBe(404);
    expect(await dump()).toBe(before);
  });
});

describe('a genuine webhook', () => {
  test('about something else than refunds, or the live mode, is taken, and nothing of it is kept', async () => {
    const customer = { type: 'customer.created', data: { object: { id: 'cus_1', object: 'customer' } } };
    const check = '<kind>check</kind><subject><check type="boolean">true</check></subject>';
    const others: [ProcessorName, SignedWebhook][] = [
      ['stripe', signStripe(JSON.stringify({ ...event(), ...customer }))],
      ['stripe', signStripe(JSON.stringify({ ...event(), livemode: true }))],
      ['braintree', signBraintree(braintreeNotification(reportOf(refunds.braintree), { type: 'sale' }))],
      [
        'braintree',
        signBraintree(
          `<notification><timestamp type="datetime">2026-11-20T10:00:00Z</timestamp>${check}</notification>`,
        ),
      ],
    ];
    for (const [processor, webhook] of others) {
      expect((await webhooks.send(processor, webhook)).status).toBe(200);
      expect(await dump()).toBe(before);
    }
  });

  test.each(PROCESSORS)(
    'of %s that names a refund of another organization or environment changes nothing',
    async (processor) => {
      const worker = service.startWorker();
      const theirs = await completedRefund(processor, other, 'test');
      const live = await completedRefund(processor, service.organization, 'live');
      await worker.close();
      before = await dump();
      for (const refund of [theirs, live]) {
        expect((await webhooks.send(processor, webhookAbout(processor, reportOf(refund)))).status).toBe(200);
        expect(await dump()).toBe(before);
      }
    },
  );
});
