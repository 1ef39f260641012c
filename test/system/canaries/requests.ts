import { expect } from 'vitest';
import { setProcessorAccount } from '#shared/processors/accounts/manage-accounts.ts';
import type { ApiProcess } from '../../support/faults/deployment.ts';
import { rawRequest, sendBytes } from '../../support/http/raw-http.ts';
import { echoing } from '../../support/processors/echoing-processor.ts';
import { newPayment } from '../../support/refunds/payments.ts';
import { recordsOf } from '../../support/refunds/refund-records.ts';
import { waitFor } from '../../support/wait-for.ts';
import { cards, clientSecret, owned, secrets } from './planted.ts';
import type { Site } from './site.ts';

const basic = (text: string) => `Basic ${Buffer.from(text).toString('base64')}`;

interface RequestOptions extends RequestInit {
  key?: string;
}

/** Sends a request, and keeps what a refusal and any headers contain. */
export async function ask(
  site: Site,
  api: ApiProcess,
  method: string,
  path: string,
  options: RequestOptions = {},
) {
  const { key = site.processes.service.organization.keys.test.plaintext, headers, ...rest } = options;
  const response = await fetch(`${api.url}${path}`, {
    signal: AbortSignal.timeout(20_000),
    method,
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json', ...headers },
    ...rest,
  });
  const text = await response.text();
  const answeredHeaders = JSON.stringify([...response.headers]);
  // A success repeats the client's data, a refusal does not.
  site.trail.answers.push([
    `${method} ${path}`,
    response.ok ? answeredHeaders : `${answeredHeaders}\n${text}`,
  ]);
  return { status: response.status, body: JSON.parse(text) };
}

/** Creates a refund of 1.00 for another reason, unless the body says otherwise. */
export async function create(site: Site, api: ApiProcess, body: object, options: RequestOptions = {}) {
  return await ask(site, api, 'POST', '/v1/refunds', {
    body: JSON.stringify({ amount: 100, reason: 'other', ...body }),
    ...options,
  });
}

export async function useCorrectly(site: Site, api: ApiProcess): Promise<void> {
  const { metadata, transactionId } = owned;
  const payment = await newPayment(site.processes.service);
  const { status, body } = await create(
    site,
    api,
    { transactionId: payment, metadata: { card: metadata.canary.text } },
    { headers: { 'idempotency-key': cards.inIdempotencyKey.text } },
  );
  expect([status, body.data?.metadata]).toEqual([200, { card: metadata.canary.text }]);
  // The sandbox knows every id that Braintree could have.
  const card = { transactionId: transactionId.canary.text, processor: 'braintree' };
  expect((await create(site, api, card, { headers: { 'idempotency-key': 'of-a-card' } })).status).toBe(200);
  await ask(site, api, 'GET', `/v1/refunds/${body.data.id}`);
  await ask(site, api, 'GET', '/v1/refunds?limit=10');
  await ask(site, api, 'PATCH', `/v1/refunds/${body.data.id}`, {
    body: JSON.stringify({ metadata: { changed: metadata.canary.text, [metadata.canary.text]: 1 } }),
  });
  await ask(site, api, 'POST', `/v1/refunds/${body.data.id}/cancel`);
  await ask(site, api, 'POST', '/v1/policies/check', { body: JSON.stringify({ transactionId: payment }) });
}

export async function useWrongly(site: Site, api: ApiProcess, revokedKey: string): Promise<void> {
  const unknown = secrets.unknownKey.text;
  for (const key of [unknown, revokedKey, `${unknown}x`, unknown.toLowerCase()]) {
    await ask(site, api, 'GET', '/v1/refunds', { key });
  }
  const authorization = basic(`user:${secrets.basicPassword.text}`);
  await ask(site, api, 'GET', '/v1/refunds', { headers: { authorization } });
  const [query, path] = [secrets.keyInQuery.text, secrets.keyInPath.text];
  for (const target of [
    `/v1/refunds?access_token=${query}&card=${cards.inQuery.text}`,
    `/v1/refunds?limit=${query}`,
    `/v1/refunds?status=${cards.inQuery.text}&processor=%20${query}`,
    `/v1/nowhere?token=%22${query}%22&card=%3D${cards.inQuery.text}`,
    `/v1/refunds/${path}`,
    `/v1/refunds/a${path}`,
    `/v1/refunds/%20${path}`,
    `/v1/refunds/${path.replace('svc_', '%73vc%5f')}`,
    `/v1/refunds/${clientSecret}`,
    `/v1/refunds/${cards.inPath.text}`,
    `/v1/refunds/card${cards.inPath.text}x`,
    `/v1/refunds/${cards.inPath.text.replace(/\d{4}(?=\d)/g, '$&%20')}`,
    `/v1/nowhere/%3A${path}/${cards.inPath.text}`,
    ...site.trail.tokens
      .filter(({ text }) => text.startsWith('invite_'))
      .map(({ text }) => `/v1/nowhere/${text}`),
  ]) {
    await ask(site, api, 'GET', target);
  }
  const headers = {
    'user-agent': cards.inHeader.text,
    'x-card': cards.inHeader.text,
    cookie: `key=${query}`,
  };
  await ask(site, api, 'GET', '/v1/refunds', {
    headers: { ...headers, prefer: `wait=${cards.inHeader.text}` },
  });
  await create(
    site,
    api,
    { transactionId: 'ch_1' },
    { headers: { 'idempotency-key': `a ${cards.inHeader.text}` } },
  );
  await create(site, api, { transactionId: 'ch_1', [secrets.keyInBody.text]: 1 });
  await create(site, api, { transactionId: 'ch_1', [cards.inName.text]: 1 });
  await create(site, api, { transactionId: 'ch_1', currency: cards.inCurrency.text });
  await create(site, api, { transactionId: 'ch_1', metadata: { constructor: cards.inName.text } });
  await create(site, api, { transactionId: owned.transactionId.canary.text, processor: 'stripe' });
  for (const processor of ['stripe', 'braintree', undefined]) {
    await create(
      site,
      api,
      { transactionId: clientSecret, processor },
      { headers: { 'idempotency-key': 'pasted' } },
    );
  }
  await ask(site, api, 'POST', '/v1/policies/check', {
    body: JSON.stringify({ transactionId: clientSecret }),
  });
  const raw = (text: string) => ask(site, api, 'POST', '/v1/refunds', { body: text });
  await raw(`{"amount":${cards.inNumber.text}}`);
  await raw(`{"amount":1,"${cards.inName.text}":1,"${cards.inName.text}":2}`);
  await raw(`{"${secrets.keyInBody.text}"`);
  const port = Number(new URL(api.url).port);
  for (const lines of [
    [`GET /v1/refunds/%zz${secrets.keyInPath.text} HTTP/1.1`, 'Host: x', 'Connection: close'],
    [`STEAL /${secrets.keyInPath.text} HTTP/1.1`, 'Host: x'],
    ['GET / HTTP/1.1', `Host: ${cards.inHeader.text}`, `X A: ${secrets.keyInQuery.text}`],
    ['GET / HTTP/1.1', 'Host: x', `X-Large: ${secrets.keyInQuery.text.repeat(500)}`],
    [
      'GET /v1/x HTTP/1.1',
      `Host: ${cards.inHeader.text}`,
      `Expect: ${secrets.keyInQuery.text}`,
      'Connection: close',
    ],
  ]) {
    site.trail.answers.push([lines[0]?.slice(0, 10) ?? '', (await sendBytes(port, rawRequest(lines))).raw]);
  }
}

/** Uses processors whose messages repeat the request and contain secrets. */
export async function useEchoingProcessors(site: Site, api: ApiProcess): Promise<void> {
  const { service } = site.processes;
  const telling = [
    ...[secrets.webhookSecret, secrets.restrictedKey, cards.inProcessorWords].map(({ text }) => text),
    clientSecret,
    `postgresql://someone:${secrets.databasePassword.text}@host/database`,
  ];
  const { url: apiBase } = await site.serve(echoing(telling.join(' ')));
  const { id: organizationId, keys: own } = await service.addOrganization('Told');
  const { text: publicKey } = secrets.publicKey;
  const credentials = {
    stripe: { secretKey: secrets.stripeKey.text, webhookSecret: secrets.webhookSecret.text, apiBase },
    braintree: { merchantId: 'told', publicKey, privateKey: secrets.privateKey.text, apiBase },
  };
  for (const processor of ['stripe', 'braintree'] as const) {
    const account = { organizationId, environment: 'test' as const, processor, actor: 'test' };
    await setProcessorAccount(service.deps, { ...account, credentials: credentials[processor] });
  }
  site.trail.keys.push({ what: 'an API key', text: own.test.plaintext });
  const { id: accountId } = await service.deps.db.processorAccount.findFirstOrThrow({
    where: { organizationId, environment: 'test', processor: 'stripe' },
  });
  await ask(site, api, 'POST', `/webhooks/stripe/${accountId}?card=${cards.inQuery.text}`, {
    body: JSON.stringify({ id: 'evt_1', data: telling }),
    headers: { 'stripe-signature': `t=1,v1=${secrets.webhookSecret.text}` },
  });
  const { plaintext: key } = own.test;
  for (const word of ['unreadable', 'rejected', 'broken', 'throttled', 'forbidden']) {
    await create(site, api, { transactionId: `ch_${word}` }, { key });
    await create(site, api, { transactionId: `sale${word}`, processor: 'braintree' }, { key });
    await ask(site, api, 'POST', '/v1/policies/check', {
      key,
      body: JSON.stringify({ transactionId: `ch_${word}2` }),
    });
  }
  await waitFor('the worker to have got every kind of answer', async () => {
    const told = await recordsOf(service.deps.db, { organizationId });
    const outcomes = told.flatMap(({ attempts }) => attempts.map(({ outcome }) => outcome));
    return (['rejected', 'unknown', 'misconfigured'] as const).every((outcome) => outcomes.includes(outcome));
  });
}
