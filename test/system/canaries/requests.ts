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

interface RequestOptions {
  key?: string;
  headers?: Record<string, string>;
  /** Sent as JSON, or a text as it is. */
  body?: object | string;
}

export type Client = ReturnType<typeof clientOf>;

/** Sends requests to an API, and keeps what refusals and any headers contain. */
export function clientOf({ processes, trail }: Site, api: ApiProcess) {
  const ownKey = processes.service.organization.keys.test.plaintext;
  const ask = async (method: string, path: string, options: RequestOptions = {}) => {
    const { key = ownKey, headers, body } = options;
    const response = await fetch(`${api.url}${path}`, {
      signal: AbortSignal.timeout(20_000),
      method,
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json', ...headers },
      ...(body === undefined ? {} : { body: typeof body === 'string' ? body : JSON.stringify(body) }),
    });
    const text = await response.text();
    const answered = JSON.stringify([...response.headers]);
    // A success repeats the client's data, a refusal does not.
    trail.answers.push([`${method} ${path}`, response.ok ? answered : `${answered}\n${text}`]);
    return { status: response.status, body: JSON.parse(text) };
  };
  return {
    api,
    ask,
    /** Creates a refund of 1.00 with the reason `other`, unless the body says otherwise. */
    create: (body: object, options: RequestOptions = {}) =>
      ask('POST', '/v1/refunds', { body: { amount: 100, reason: 'other', ...body }, ...options }),
    check: (transactionId: string, options: RequestOptions = {}) =>
      ask('POST', '/v1/policies/check', { body: { transactionId }, ...options }),
  };
}

export async function useCorrectly(site: Site, { ask, create, check }: Client): Promise<void> {
  const { text: card } = owned.metadata.canary;
  const payment = await newPayment(site.processes.service);
  const keyed = (key: string) => ({ headers: { 'idempotency-key': key } });
  const request = { transactionId: payment, metadata: { card } };
  const { status, body } = await create(request, keyed(cards.inIdempotencyKey.text));
  expect([status, body.data?.metadata]).toEqual([200, { card }]);
  // The sandbox knows every id that Braintree could have.
  const other = { transactionId: owned.transactionId.canary.text, processor: 'braintree' };
  expect((await create(other, keyed('of-a-card'))).status).toBe(200);
  const { id } = body.data;
  await ask('GET', `/v1/refunds/${id}`);
  await ask('GET', '/v1/refunds?limit=10');
  await ask('PATCH', `/v1/refunds/${id}`, { body: { metadata: { changed: card, [card]: 1 } } });
  await ask('POST', `/v1/refunds/${id}/cancel`);
  await check(payment);
}

export async function useWrongly(site: Site, client: Client, revokedKey: string): Promise<void> {
  const { ask, create, check } = client;
  const unknown = secrets.unknownKey.text;
  for (const key of [unknown, revokedKey, `${unknown}x`, unknown.toLowerCase()]) {
    await ask('GET', '/v1/refunds', { key });
  }
  const basic = Buffer.from(`user:${secrets.basicPassword.text}`).toString('base64');
  const [query, path] = [secrets.keyInQuery.text, secrets.keyInPath.text];
  const invitations = site.trail.tokens.filter(({ text }) => text.startsWith('invite_'));
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
    ...invitations.map(({ text }) => `/v1/nowhere/${text}`),
  ]) {
    await ask('GET', target);
  }
  const { text: card } = cards.inHeader;
  for (const headers of [
    { authorization: `Basic ${basic}` },
    { 'user-agent': card, 'x-card': card, cookie: `key=${query}`, prefer: `wait=${card}` },
  ]) {
    await ask('GET', '/v1/refunds', { headers });
  }
  const [keyName, cardName] = [secrets.keyInBody.text, cards.inName.text];
  await create({ transactionId: 'ch_1' }, { headers: { 'idempotency-key': `a ${card}` } });
  for (const more of [
    ...[{ [keyName]: 1 }, { [cardName]: 1 }, { currency: cards.inCurrency.text }],
    ...[
      { metadata: { constructor: cardName } },
      { transactionId: owned.transactionId.canary.text, processor: 'stripe' },
    ],
  ]) {
    await create({ transactionId: 'ch_1', ...more });
  }
  for (const processor of ['stripe', 'braintree', undefined]) {
    const pasted = { headers: { 'idempotency-key': 'pasted' } };
    await create({ transactionId: clientSecret, processor }, pasted);
  }
  await check(clientSecret);
  for (const body of [
    `{"amount":${cards.inNumber.text}}`,
    `{"amount":1,"${cardName}":1,"${cardName}":2}`,
    `{"${keyName}"`,
  ]) {
    await ask('POST', '/v1/refunds', { body });
  }
  const close = 'Connection: close';
  for (const lines of [
    [`GET /v1/refunds/%zz${path} HTTP/1.1`, 'Host: x', close],
    [`STEAL /${path} HTTP/1.1`, 'Host: x'],
    ['GET / HTTP/1.1', `Host: ${card}`, `X A: ${query}`],
    ['GET / HTTP/1.1', 'Host: x', `X-Large: ${query.repeat(500)}`],
    ['GET /v1/x HTTP/1.1', `Host: ${card}`, `Expect: ${query}`, close],
  ]) {
    const { raw } = await sendBytes(Number(new URL(client.api.url).port), rawRequest(lines));
    site.trail.answers.push([lines[0]?.slice(0, 10) ?? '', raw]);
  }
}

/** Uses processors whose messages repeat the request and contain secrets. */
export async function useEchoingProcessors(site: Site, { ask, create, check }: Client): Promise<void> {
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
  const { plaintext: key } = own.test;
  site.trail.keys.push({ what: 'an API key', text: key });
  const { id: accountId } = await service.deps.db.processorAccount.findFirstOrThrow({
    where: { organizationId, environment: 'test', processor: 'stripe' },
  });
  await ask('POST', `/webhooks/stripe/${accountId}?card=${cards.inQuery.text}`, {
    body: { id: 'evt_1', data: telling },
    headers: { 'stripe-signature': `t=1,v1=${secrets.webhookSecret.text}` },
  });
  for (const word of ['unreadable', 'rejected', 'broken', 'throttled', 'forbidden']) {
    await create({ transactionId: `ch_${word}` }, { key });
    await create({ transactionId: `sale${word}`, processor: 'braintree' }, { key });
    await check(`ch_${word}2`, { key });
  }
  await waitFor('the worker to have got every kind of answer', async () => {
    const told = await recordsOf(service.deps.db, { organizationId });
    const outcomes = told.flatMap(({ attempts }) => attempts.map(({ outcome }) => outcome));
    return (['rejected', 'unknown', 'misconfigured'] as const).every((outcome) => outcomes.includes(outcome));
  });
}
