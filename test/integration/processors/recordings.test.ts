import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { differences, fromText, type Recording, Scrubber, shapeOf } from '../../real/recording.ts';
import { make, scenarios } from '../../real/scenarios.ts';
import { type RealTarget, targetsOf } from '../../real/targets.ts';
import { sandboxCredentials } from '../../sandbox/processors.ts';
import { noProxies } from '../../support/http/proxy-server.ts';
import {
  braintreeCredentials,
  connect,
  stripeCredentials,
} from '../../support/processors/processor-variants.ts';
import { type Seen, useScriptedServers } from '../../support/processors/scripted-server.ts';
import { useSandbox } from '../../support/processors/use-sandbox.ts';

const folder = join(import.meta.dirname, '../../recordings');
const processors = ['stripe', 'braintree'] as const;
const credentials = { stripe: stripeCredentials, braintree: braintreeCredentials };

const recordingsOf = (processor: string) =>
  readdirSync(join(folder, processor)).map((file) => {
    const text = readFileSync(join(folder, processor, file), 'utf8');
    return [file.replace('.json', ''), fromText(text) as Recording] as const;
  });

const serve = useScriptedServers();

describe.each(processors)('recorded answers of %s', (processor) => {
  test('exist for every call that is recorded, with their source', () => {
    const recordings = recordingsOf(processor);
    expect(recordings.map(([name]) => name)).toEqual(Object.keys(scenarios).toSorted());
    for (const [name, { source }] of recordings) expect(source, name).toMatch(/\w+\.\w+/);
  });

  test.each(recordingsOf(processor))(
    'are read as they were when they were recorded: %s',
    async (_, recording) => {
      const left = [...recording.exchanges];
      const { url, seen } = await serve((call, response) => {
        const { status = 500, contentType = '', body = '' } = left.shift() ?? {};
        response.writeHead(status, { 'content-type': contentType }).end(body);
        return call;
      });
      const answer = await make(connect(processor, credentials[processor], url), recording);
      // As it is written, without what is undefined and with times as texts.
      expect(JSON.parse(JSON.stringify(answer, inFile))).toEqual(
        JSON.parse(JSON.stringify(recording.answer, inFile)),
      );
      const requestOf = ({ method, path }: Pick<Seen, 'method' | 'path'>) => `${method} ${path}`;
      expect(seen.map(requestOf)).toEqual(recording.exchanges.map(requestOf));
    },
  );
});

const inFile = (_: string, value: unknown) => (typeof value === 'bigint' ? `${value}n` : value);

describe('the sandbox', () => {
  const { sandbox } = useSandbox();
  let targets: RealTarget[] = [];
  beforeAll(async () => {
    const { stripe, braintree } = sandboxCredentials('test', sandbox.url);
    const { merchantId = '', publicKey = '', privateKey = '' } = braintree;
    targets = targetsOf({
      stripe: { key: stripe.secretKey ?? '', connectedAccount: null },
      braintree: { merchantId, publicKey, privateKey },
      sandbox: sandbox.url,
      recordings: null,
      proxies: noProxies,
    });
    for (const target of targets) await target.start();
  });
  afterAll(async () => {
    for (const target of targets) await target.close();
  });

  const recorded = processors.flatMap((processor) =>
    recordingsOf(processor).map(([name, recording]) => [processor, name, recording] as const),
  );

  test.each(recorded)(
    'answers with the fields and types that are recorded of %s: %s',
    async (processor, name, recording) => {
      const target = targets.find((each) => each.name === processor);
      if (target === undefined) throw new Error(`There is no target ${processor}.`);
      const prepared = await scenarios[name]?.(target);
      if (prepared === undefined) throw new Error(`Nothing is recorded as ${name}.`);
      target.recorder.take();
      await make(target.processor, prepared);
      const exchanges = target.recorder.take();
      expect(exchanges.map(({ status }) => status)).toEqual(recording.exchanges.map(({ status }) => status));
      const found = recording.exchanges.flatMap((each, index) => {
        const other = exchanges[index];
        return other === undefined || each.body === '' ? [] : differences(shapeOf(each), shapeOf(other));
      });
      expect(found).toEqual([]);
    },
  );
});

test('a recording keeps no secret, id, address or name of an account', () => {
  const scrubber = new Scrubber();
  const body = JSON.stringify({
    ...{
      id: 'ch_3Pq9ab12cd',
      status: 'succeeded',
      customer: 'cus_9ab12cd34',
      receipt_email: 'ada@example.org',
    },
    ...{
      client_secret: 'pi_1_secret_abcdef',
      amount: 5000,
      metadata: { refund_id: 'ref_01h455vb4pex5vsknk084sn02q' },
    },
    ...{
      billing_details: { name: 'Ada' },
      ip: '203.0.113.9',
      last4: '4242',
      fingerprint: 'AOB934RVNwzk6xtn',
    },
    error: { message: "No such charge: 'ch_3Pq9ab12cd' for sk_test_abc of ada@example.org" },
  });
  const path = '/v1/charges/ch_3Pq9ab12cd';
  const kept = scrubber.exchange({ method: 'GET', path, status: 200, contentType: 'application/json', body });
  expect(kept.path).toBe('/v1/charges/ch_recorded1');
  expect(JSON.parse(kept.body)).toEqual({
    ...{ id: 'ch_recorded1', status: 'succeeded', customer: 'cus_recorded2', receipt_email: 'recorded' },
    ...{ client_secret: 'recorded', amount: 5000, metadata: { refund_id: 'ref_01h455vb4pex5vsknk084sn003' } },
    ...{ billing_details: { name: 'recorded' }, ip: 'recorded', last4: 'recorded', fingerprint: 'recorded' },
    error: { message: "No such charge: 'ch_recorded1' for sk_test_scrubbed of person@example.com" },
  });
  scrubber.note('a1b2c3d4');
  const sale =
    '<transaction><id>a1b2c3d4</id><status>settled</status><email>ada@example.org</email><amount>5.00</amount></transaction>';
  const xml = {
    method: 'GET',
    path: '/merchants/secret/transactions/a1b2c3d4',
    status: 200,
    contentType: 'application/xml',
    body: sale,
  };
  expect(scrubber.exchange(xml)).toMatchObject({
    path: '/merchants/merchant/transactions/recorded1',
    body: '<transaction><id>recorded1</id><status>settled</status><email>recorded</email><amount>5.00</amount></transaction>',
  });
});
