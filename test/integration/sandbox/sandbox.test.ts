import { once } from 'node:events';
import { appendFileSync } from 'node:fs';
import { type IncomingMessage, request } from 'node:http';
import { expect, test } from 'vitest';
import { braintreeClient, sandboxControl, stripeClient } from '../../sandbox/clients.ts';
import { startProcess } from '../../support/processes/child-process.ts';
import { freePort } from '../../support/processes/free-port.ts';
import { useTemporaryFolder } from '../../support/processes/temporary-folder.ts';
import { useSandbox } from '../../support/processors/use-sandbox.ts';

const inFolder = useTemporaryFolder();
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

test('after kill -9 keeps refunds, keys and settings', async () => {
  const dataFile = inFolder('killed', 'state.journal');
  const port = await freePort();
  const url = `http://127.0.0.1:${port}`;
  const start = async () => {
    const args = ['--port', String(port), '--data-file', dataFile];
    const child = startProcess('test/sandbox/main.ts', { args });
    await child.waitForUrl(`${url}/_sandbox/health`);
    return child;
  };
  const params = { charge: 'ch_restart', amount: 100, metadata: { refund_id: 'ref_1' } };
  const options = { amount: '1.00', orderId: 'ref_2', apiRequestKey: 'restart' };
  const refundBoth = async () => {
    const refund = await stripeClient(url).refunds.create(params, { idempotencyKey: 'restart' });
    const { transaction } = await braintreeClient(url).transactions.refund('restart', options);
    return [refund.id, transaction.id];
  };
  const first = await start();
  const killed = sandboxControl(url);
  await killed.settings({ autoSettleMs: null });
  const ids = await refundBoth();
  const before = await killed.refunds();
  expect(before).toMatchObject([
    { id: ids[0], key: 'ref_1' },
    { id: ids[1], key: 'ref_2' },
  ]);
  await first.kill9();
  // The kill may have come in the middle of a write.
  appendFileSync(dataFile, '[{"refund":{"id":"re_ha');

  const second = await start();
  expect(await refundBoth()).toEqual(ids);
  expect(await killed.refunds()).toEqual(before);
  expect(await killed.settings({})).toMatchObject({ autoSettleMs: null });
  await second.stop();
});
