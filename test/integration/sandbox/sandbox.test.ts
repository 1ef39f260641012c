import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { appendFileSync, readFileSync } from 'node:fs';
import { type IncomingMessage, request } from 'node:http';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { afterEach, describe, expect, test } from 'vitest';
import { braintreeClient, sandboxControl, stripeClient } from '../../sandbox/clients.ts';
import { startSandbox } from '../../sandbox/server.ts';
import { useTemporaryFolder } from '../../support/processes/temporary-folder.ts';
import { useSandbox } from '../../support/processors/use-sandbox.ts';

const inFolder = useTemporaryFolder();
const { sandbox, control } = useSandbox({ autoSettle: false });

describe('the control API', () => {
  const post = (path: string, body: string) =>
    fetch(`${sandbox.url}/_sandbox${path}`, { method: 'POST', body });

  test('is healthy', async () => {
    expect(await (await fetch(`${sandbox.url}/_sandbox/health`)).json()).toEqual({
      ok: true,
      pid: process.pid,
    });
  });

  const payment = '{"processor":"stripe","id":"ch_page","amount":1,"currency":"usd"}';

  test.each([
    ['of another origin', { origin: 'https://attacker.example' }],
    ['of a page without an origin', { origin: 'null' }],
    ['of another port of this machine', { origin: 'http://127.0.0.1:3000', 'sec-fetch-site': 'same-site' }],
    ['that a link or an image causes', { 'sec-fetch-site': 'cross-site' }],
    ['of a domain that resolves to this machine', { host: 'attacker.example:4010' }],
    ['of such a domain with its own origin', { host: 'attacker.example', 'sec-fetch-site': 'same-origin' }],
  ])('refuses requests of web pages: %s', async (_what, headers) => {
    for (const [method, path, body] of [
      ['POST', '/transactions', payment],
      ['POST', '/settings', '{"webhooks":[]}'],
      ['DELETE', '/faults', ''],
      ['GET', '/refunds', ''],
    ] as const) {
      const { hostname, port } = new URL(sandbox.url);
      const sent = request({ hostname, port, path: `/_sandbox${path}`, method, headers });
      sent.end(body);
      const [answer] = (await once(sent, 'response')) as [IncomingMessage];
      answer.resume();
      expect(answer.statusCode, `${method} ${path}`).toBe(403);
    }
  });

  test.each([
    ['with a form as curl sends it', { 'content-type': 'application/x-www-form-urlencoded' }],
    ['to a name without a domain', { host: 'sandbox:4010' }],
    ['to localhost', { host: 'localhost' }],
    ['to an IPv6 address', { host: '[::1]:4010' }],
  ])('accepts requests of programs: %s', async (_what, headers) => {
    const { hostname, port } = new URL(sandbox.url);
    const sent = request({ hostname, port, path: '/_sandbox/transactions', method: 'POST', headers });
    sent.end(payment);
    const [answer] = (await once(sent, 'response')) as [IncomingMessage];
    answer.resume();
    expect(answer.statusCode).toBe(200);
  });

  test.each([
    ['/transactions', '{'],
    ['/transactions', '{"processor":"paypal","amount":1,"currency":"usd"}'],
    ['/transactions', '{"processor":"stripe","amount":1.5,"currency":"usd"}'],
    ['/transactions', '{"processor":"stripe","amount":0,"currency":"usd"}'],
    ['/transactions', '{"processor":"stripe","amount":1,"currency":"usd","status":"settled"}'],
    ['/transactions', '{"processor":"stripe","amount":1,"currency":"usd","id":"sale1"}'],
    ['/transactions', '{"processor":"stripe","amount":1,"currency":"usd","id":"ch_missing"}'],
    ['/transactions', '{"processor":"braintree","amount":1,"currency":"usd","status":"succeeded"}'],
    ['/faults', '{"processor":"stripe","operation":"refund.update","kind":"reset"}'],
    ['/faults', '{"processor":"stripe","operation":"*","kind":"explode"}'],
    ['/faults', '{"processor":"stripe","operation":"*","kind":"reset","times":0}'],
    ['/settings', '{"autoSettleMs":-1}'],
    ['/settings', '{"webhooks":[{"processor":"stripe","environment":"test","url":"nowhere","secret":"s"}]}'],
    ['/settings', '{"autosettle":1}'],
  ])('answers 400 with a reason: %s %s', async (path, body) => {
    const response = await post(path, body);
    expect(response.status).toBe(400);
    expect(((await response.json()) as { error: { message: string } }).error.message).not.toBe('');
  });

  test('answers unknown ids and routes with 404', async () => {
    expect((await post('/refunds/re_unknown', '{"status":"failed"}')).status).toBe(404);
    expect((await post('/transactions/ch_unknown', '{"status":"failed"}')).status).toBe(404);
    expect((await post('/nonsense', '{}')).status).toBe(404);
    expect(await control.refunds({ transactionId: 'ch_unknown' })).toEqual([]);
  });

  test("refuses another processor's refund status", async () => {
    const { id } = await stripeClient(sandbox.url).refunds.create({ charge: 'ch_driven' });
    await expect(control.driveRefund(id, { status: 'settled' })).rejects.toThrow(/^400 status: stripe knows/);
  });

  test('chooses an id when none is given', async () => {
    const id = await control.transaction({ processor: 'stripe', amount: 123, currency: 'EUR' });
    expect(await stripeClient(sandbox.url).charges.retrieve(id)).toMatchObject({
      amount: 123,
      currency: 'eur',
    });
    expect(await control.transaction({ processor: 'braintree', amount: 1, currency: 'usd' })).toMatch(
      /^[a-z0-9]{8}$/,
    );
  });

  test('changes only the settings that are given', async () => {
    expect(await control.settings({ latencyMs: 60 })).toEqual({
      autoSettleMs: null,
      latencyMs: 60,
      webhooks: [],
    });
    const before = performance.now();
    await stripeClient(sandbox.url).charges.retrieve('ch_slow');
    expect(performance.now() - before).toBeGreaterThanOrEqual(55);
    await control.settings({ latencyMs: 0 });
  });
});

describe('a restart', () => {
  const live: ChildProcess[] = [];
  afterEach(() => {
    for (const child of live) child.kill('SIGKILL');
  });

  async function startProcess(dataFile: string): Promise<{ child: ChildProcess; url: string }> {
    const main = join(import.meta.dirname, '../../sandbox/main.ts');
    const args = ['--import', 'tsx', main, '--port', '0', '--data-file', dataFile];
    const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'] });
    live.push(child);
    const lines = createInterface({ input: child.stdout as NodeJS.ReadableStream });
    for await (const line of lines) {
      const url = /http:\S+/.exec(line)?.[0];
      if (url !== undefined) return { child, url };
    }
    throw new Error('the sandbox ended before it listened');
  }

  async function end(child: ChildProcess, signal: 'SIGKILL' | 'SIGTERM'): Promise<number | null> {
    const ended = new Promise<number | null>((resolve) => child.once('exit', resolve));
    child.kill(signal);
    return await ended;
  }

  test('after kill -9 keeps refunds, keys and settings', async () => {
    const dataFile = inFolder('killed', 'state.journal');
    const first = await startProcess(dataFile);
    await sandboxControl(first.url).settings({ autoSettleMs: null });
    const keyed = { idempotencyKey: 'restart' };
    const params = { charge: 'ch_restart', amount: 100, metadata: { refund_id: 'ref_1' } };
    const refund = await stripeClient(first.url).refunds.create(params, keyed);
    const options = { amount: '1.00', orderId: 'ref_2', apiRequestKey: 'restart' };
    const credit = await braintreeClient(first.url).transactions.refund('restart', options);
    const before = await sandboxControl(first.url).refunds();
    await end(first.child, 'SIGKILL');

    const second = await startProcess(dataFile);
    expect(await sandboxControl(second.url).refunds()).toEqual(before);
    expect(before.map((entry) => entry.key)).toEqual(['ref_1', 'ref_2']);
    expect((await stripeClient(second.url).refunds.create(params, keyed)).id).toBe(refund.id);
    const again = await braintreeClient(second.url).transactions.refund('restart', options);
    expect(again.transaction.id).toBe(credit.transaction.id);
    expect(await sandboxControl(second.url).refunds()).toHaveLength(2);
    expect((await sandboxControl(second.url).settings({})).autoSettleMs).toBeNull();
    expect(await end(second.child, 'SIGTERM')).toBe(0);
  });

  test('settles refunds that became due meanwhile', async () => {
    let clock = 1_772_366_400_000;
    const options = { port: 0, dataFile: inFolder('due.journal'), now: () => clock };
    const first = await startSandbox(options);
    await stripeClient(first.url).refunds.create({ charge: 'ch_due' });
    await first.close();
    clock += 1500;
    const second = await startSandbox(options);
    expect(await sandboxControl(second.url).refunds()).toMatchObject([{ status: 'succeeded' }]);
    await second.close();
  });

  test('drops an incomplete line, keeps complete ones, and refuses a file that it cannot read', async () => {
    const dataFile = inFolder('torn.journal');
    const first = await startSandbox({ port: 0, dataFile });
    await stripeClient(first.url).refunds.create({ charge: 'ch_torn' });
    await first.close();
    appendFileSync(dataFile, '[{"refund":{"id":"re_ha');
    const second = await startSandbox({ port: 0, dataFile });
    expect(await sandboxControl(second.url).refunds()).toHaveLength(1);
    await second.close();
    expect(readFileSync(dataFile, 'utf8').endsWith('\n')).toBe(true);
    appendFileSync(dataFile, 'garbage\n');
    await expect(startSandbox({ port: 0, dataFile })).rejects.toThrow(/is not a line of the sandbox journal/);
  });
});
