import { once } from 'node:events';
import { type IncomingMessage, request } from 'node:http';
import { expect, test } from 'vitest';
import { useSandbox } from '../../support/processors/use-sandbox.ts';

const { sandbox } = useSandbox();

/** The status of a request to create a payment. */
async function createWith(headers: Record<string, string>): Promise<number | undefined> {
  const { hostname, port } = new URL(sandbox.url);
  const sent = request({ hostname, port, path: '/_sandbox/transactions', method: 'POST', headers });
  sent.end('{"processor":"stripe","id":"ch_page","amount":1,"currency":"usd"}');
  const [answer] = (await once(sent, 'response')) as [IncomingMessage];
  answer.resume();
  return answer.statusCode;
}

test.each([
  ['of another origin', { origin: 'https://attacker.example' }],
  ['of a page without an origin', { origin: 'null' }],
  ['of another port of this machine', { origin: 'http://127.0.0.1:3000', 'sec-fetch-site': 'same-site' }],
  ['that a link or an image causes', { 'sec-fetch-site': 'cross-site' }],
  ['of a domain that resolves to this machine', { host: 'attacker.example:4010' }],
])('refuses requests of web pages: %s', async (_what, headers) => {
  expect(await createWith(headers)).toBe(403);
});

test.each(['sandbox:4010', 'localhost', '[::1]:4010'])('accepts requests of programs to %s', async (host) => {
  expect(await createWith({ host, 'content-type': 'application/x-www-form-urlencoded' })).toBe(200);
});

test.each([
  ['/transactions', '{', 400],
  ['/transactions', '{"processor":"paypal","amount":1,"currency":"usd"}', 400],
  ['/transactions', '{"processor":"stripe","amount":1,"currency":"usd","id":"ch_missing"}', 400],
  ['/faults', '{"processor":"stripe","operation":"*","kind":"explode"}', 400],
  ['/settings', '{"autosettle":1}', 400],
  ['/refunds/re_unknown', '{"status":"failed"}', 404],
  ['/nonsense', '{}', 404],
])('says what is wrong: %s %s', async (path, body, status) => {
  const response = await fetch(`${sandbox.url}/_sandbox${path}`, { method: 'POST', body });
  expect(response.status).toBe(status);
  expect(await response.json()).toEqual({ error: { message: expect.stringMatching(/\w/) } });
});
