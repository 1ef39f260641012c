import { execFile } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { promisify } from 'node:util';
import { beforeAll, describe, expect, test } from 'vitest';
import { useExposedService } from '../../support/http/exposed-service.ts';
import { readDocument } from '../../support/http/openapi-document.ts';
import { useTemporaryFolder } from '../../support/processes/temporary-folder.ts';
import { newPayment } from '../../support/refunds/payments.ts';

const run = promisify(execFile);
const folder = useTemporaryFolder();
const exposed = useExposedService();

/** With the tools of their own, as users install them. */
const packages = [
  ...['openapi-typescript@7.13.0', 'openapi-fetch@0.17.0', '@hey-api/openapi-ts@0.95.0', 'orval@7.13.2'],
  ...['zod@4.6.7', 'axios@1.12.2', 'typescript@5.9.3', '@types/node@20', '@redocly/cli@2.77.0'],
  'quicktype@26.0.0',
];

const npx = async (...command: string[]) => {
  const options = {
    cwd: folder(),
    env: { ...process.env, REDOCLY_TELEMETRY: 'off', SCARF_ANALYTICS: 'false' },
  };
  return await run('npx', ['--no-install', ...command], options).catch(({ stdout, stderr }) => {
    throw new Error(`${command.join(' ')}\n${stdout}${stderr}`);
  });
};

/** What every program does, with a client of its own, and prints. `fetch` answers as a later version of the service would. */
const program = `
import { writeFileSync } from 'node:fs';

const { BASE_URL: baseUrl = '', KEY: key = '', PAYMENT: transactionId = '' } = process.env;
const headers = { authorization: \`Bearer \${key}\` };
const include = ['failure', 'cancellable'] as const;
const body = { transactionId, amount: 100, reason: 'other', metadata: { ticket: 'T-1' } } as const;
const ofLater = (text: string) =>
  text.replaceAll('"refund.created"', '"refund.disputed"').replaceAll('"processing"', '"disputed"').replaceAll('"seq":', '"later":{"a":1},"seq":');
async function later(input: string | URL | Request, init?: RequestInit): Promise<Response> {
  const response = await fetch(input, init);
  return new Response(ofLater(await response.text()), { status: response.status, headers: { 'content-type': 'application/json' } });
}
const report = (created: { id: string }, listed: { id: string; cancellable?: boolean | undefined; failure?: object | null | undefined }[], events: { type: string; data: { refund: { status: string } } }[]) =>
  console.log(JSON.stringify({ created: created.id, listed: listed.map(({ id, cancellable, failure }) => ({ id, cancellable, failure })),
    events: events.filter(({ type }) => type === 'refund.disputed').map(({ data }) => data.refund.status) }));
`;

const clients: Record<string, { generate: string[]; config?: [string, string]; use: string }> = {
  'openapi-typescript with openapi-fetch': {
    generate: ['openapi-typescript', 'openapi.json', '-o', 'typed.ts'],
    use: `
import createClient from 'openapi-fetch';
import type { paths } from './typed.ts';
const client = createClient<paths>({ baseUrl, headers, fetch: later });
const plain = createClient<paths>({ baseUrl, headers });
const created = (await plain.POST('/v1/refunds', { body })).data!.data;
if (!('id' in created)) throw new Error('a dry run');
const query = { include: [...include], metadata: { ticket: 'T-1' } };
const listed = (await plain.GET('/v1/refunds', { params: { query } })).data!.data;
report(created, listed, (await client.GET('/v1/events')).data!.data);`,
  },
  'hey-api, which validates answers': {
    config: [
      'openapi-ts.config.mjs',
      `export default { input: 'openapi.json', output: 'hey', plugins: ['@hey-api/client-fetch', 'zod', { name: '@hey-api/sdk', validator: true }] };`,
    ],
    generate: ['openapi-ts'],
    use: `
import { createRefund, listEvents, listRefunds } from './hey/index.ts';
const options = { baseUrl, headers, throwOnError: true } as const;
const created = (await createRefund({ ...options, body })).data.data;
if (!('id' in created)) throw new Error('a dry run');
const query = { include: [...include], metadata: { ticket: 'T-1' } };
const listed = (await listRefunds({ ...options, query })).data.data;
report(created, listed, (await listEvents({ ...options, fetch: later as typeof fetch })).data.data);`,
  },
  'orval with axios and zod': {
    config: [
      'orval.config.cjs',
      `module.exports = { api: { input: 'openapi.json', output: { target: 'orval.ts', client: 'axios-functions' } },
        zod: { input: 'openapi.json', output: { target: 'orval-zod.ts', client: 'zod' } } };`,
    ],
    generate: ['orval', '--config', 'orval.config.cjs'],
    use: `
import { createRefund, listEvents, listRefunds } from './orval.ts';
import { listEventsResponse } from './orval-zod.ts';
const options = { baseURL: baseUrl, headers };
const created = (await createRefund(body, options)).data.data;
if (!('id' in created)) throw new Error('a dry run');
const listed = (await listRefunds({ include: [...include], metadata: { ticket: 'T-1' } }, options)).data.data;
const page = await listEvents(undefined, { ...options, transformResponse: (text: string) => JSON.parse(ofLater(text)) });
report(created, listed, listEventsResponse.parse(page.data).data);`,
  },
};

/** The same program in Python, with its standard library only. */
const pythonProgram = `
import json, os
from urllib.parse import urlencode
from urllib.request import Request, urlopen
from models import detailed_refund_from_dict, event_from_dict, refund_from_dict

def call(path, body=None):
    headers = {'authorization': 'Bearer ' + os.environ['KEY'], 'content-type': 'application/json'}
    return urlopen(Request(os.environ['BASE_URL'] + path, body and json.dumps(body).encode(), headers)).read().decode()

def of_later(text):
    return text.replace('"refund.created"', '"refund.disputed"').replace('"processing"', '"disputed"').replace('"seq":', '"later":{"a":1},"seq":')

body = {'transactionId': os.environ['PAYMENT'], 'amount': 100, 'reason': 'other', 'metadata': {'ticket': 'T-1'}}
created = refund_from_dict(json.loads(call('/v1/refunds', body))['data'])
query = urlencode({'include': ['failure', 'cancellable'], 'metadata[ticket]': 'T-1'}, doseq=True)
listed = [detailed_refund_from_dict(one) for one in json.loads(call('/v1/refunds?' + query))['data']]
events = [event_from_dict(one) for one in json.loads(of_later(call('/v1/events')))['data']]
print(json.dumps({'created': created.id, 'listed': [{'id': one.id, 'cancellable': one.cancellable, 'failure': one.failure} for one in listed],
    'events': [one.data.refund.status for one in events if one.type == 'refund.disputed']}))
`;

beforeAll(async () => {
  writeFileSync(folder('package.json'), JSON.stringify({ type: 'module', private: true }));
  writeFileSync(folder('tsconfig.json'), JSON.stringify({ compilerOptions: { module: 'nodenext' } }));
  writeFileSync(folder('openapi.json'), JSON.stringify((await readDocument(exposed.service)).document));
  await run('npm', ['install', '--no-audit', '--no-fund', ...packages], { cwd: folder() });
});

test('redocly finds no problem in the document', async () => {
  const { stdout } = await npx(
    'redocly',
    'lint',
    'openapi.json',
    '--extends',
    'recommended',
    '--format',
    'json',
  );
  expect(JSON.parse(stdout.slice(stdout.indexOf('{'))).problems).toEqual([]);
});

/** Runs a program against the service and compares its output with the database. */
async function expectToRead(command: string, file: string): Promise<void> {
  const { service, port } = exposed;
  const env = {
    ...process.env,
    BASE_URL: `http://127.0.0.1:${port}`,
    KEY: service.organization.keys.test.plaintext,
    PAYMENT: await newPayment(service),
  };
  const { stdout } = await run(command, [folder(file)], { cwd: folder(), env });
  const { created, listed, events } = JSON.parse(stdout);
  expect(listed[0]).toEqual({ id: created, cancellable: true, failure: null });
  expect(listed).toHaveLength(await service.deps.db.refund.count());
  expect(new Set(events)).toEqual(new Set(['disputed']));
}

describe('a client that is generated from the document compiles, and reads what a later version adds', () => {
  test.each(Object.entries(clients))(
    'a program with the client of %s compiles and runs',
    async (name, { config, generate, use }) => {
      if (config !== undefined) writeFileSync(folder(config[0]), config[1]);
      await npx(...generate);
      const file = `${name.split(/\W/)[0]}-program.ts`;
      writeFileSync(folder(file), `${program}${use}`);
      const options = [
        '--strict',
        '--module',
        'nodenext',
        '--target',
        'es2023',
        '--skipLibCheck',
        '--types',
        'node',
      ];
      await npx('tsc', ...options, '--rewriteRelativeImportExtensions', '--outDir', 'out', file);
      await expectToRead(process.execPath, `out/${file.replace('.ts', '.js')}`);
    },
  );

  test('quicktype for Python', async () => {
    const schemas = 'openapi.json#/components/schemas/';
    const from = ['--src-lang', 'schema', '--src', schemas, '--no-date-times'];
    await npx('quicktype', '--lang', 'python', '--python-version', '3.7', ...from, '-o', 'models.py');
    writeFileSync(folder('program.py'), pythonProgram);
    await expectToRead('python3', 'program.py');
  });
});
