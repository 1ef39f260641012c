import { readFileSync } from 'node:fs';
import { Validator } from '@seriousme/openapi-schema-validator';
import { beforeAll, describe, expect, test } from 'vitest';
import { operations } from '#api/operations/operations.ts';
import { RefundClient } from '#shared/client/index.ts';
import { apiKeyScopes } from '#shared/organizations/api-keys.ts';
import { errorCatalogue } from '#shared/platform/errors.ts';
import { publicEventTypes } from '#shared/refunds/model/event-types.ts';
import { readDocument, type ServedDocument } from '../../support/http/openapi-document.ts';
import type { ParsedJson } from '../../support/parsed-json.ts';
import { useService } from '../../support/use-service.ts';

const service = useService({ workers: 0 });

/** A response of an operation. */
interface Declared {
  description: string;
  content: { 'application/json': { schema: unknown; examples?: Record<string, { value: unknown }> } };
}

interface Webhook {
  parameters: { name: string; in: string; required: boolean }[];
  requestBody: {
    content: { 'application/json': { schema: unknown; examples: Record<'example', { value: unknown }> } };
  };
}

let served: ServedDocument;
let document: ParsedJson;
beforeAll(async () => {
  served = await readDocument(service);
  document = served.document;
});

describe('the OpenAPI document', () => {
  test('is valid OpenAPI 3.1', async () => {
    const validator = new Validator();
    const { valid, errors } = await validator.validate(structuredClone(document));
    expect(errors ?? []).toEqual([]);
    expect([valid, validator.version]).toEqual([true, '3.1']);
    const { version } = JSON.parse(readFileSync('package.json', 'utf8'));
    expect(document.info.version).toBe(version);
  });

  test('has the operations with their scopes, and the routes for health', () => {
    const described = served.operations.map(({ method, path, operation }) => [
      `${method.toUpperCase()} ${path}`,
      operation.security,
    ]);
    const health = ['GET /healthz', 'GET /readyz'].map((route): [string, object[]] => [route, []]);
    const expected = operations.map(({ method, path, scope, alsoNeeds }): [string, object[]] => [
      `${method} ${path.replace(/:(\w+)/g, '{$1}')}`,
      [{ apiKey: alsoNeeds === undefined ? [scope] : [scope, alsoNeeds] }],
    ]);
    expect(Object.fromEntries(described)).toEqual(Object.fromEntries([...health, ...expected]));
    const { description } = document.components.securitySchemes.apiKey;
    for (const scope of apiKeyScopes) expect(description).toContain(`\`${scope}\``);
  });

  test('states the least, the greatest and the default of every number in a query', () => {
    const numbers = served.operations.flatMap(({ path, operation }) =>
      (operation.parameters ?? [])
        .filter(({ schema }: ParsedJson) => schema.type === 'integer')
        .map(({ name, schema: { minimum, maximum, default: fallback } }: ParsedJson) => [
          `${path} ${name}`,
          [minimum, maximum, fallback],
        ]),
    );
    const page = [1, 100, 25];
    const offset = [0, 1_000_000, 0];
    const amount = [0, Number.MAX_SAFE_INTEGER, undefined];
    expect(Object.fromEntries(numbers)).toEqual({
      '/v1/refunds limit': page,
      '/v1/refunds offset': offset,
      '/v1/refunds amountMin': amount,
      '/v1/refunds amountMax': amount,
      '/v1/events limit': page,
      '/v1/refund-batches limit': page,
      '/v1/refund-batches offset': offset,
      '/v1/refund-batches/{id}/results after': [0, 10_000, 0],
      '/v1/refund-batches/{id}/results limit': [1, 1_000, 100],
      '/v1/webhook-endpoints/{id}/deliveries limit': page,
      '/v1/webhook-endpoints/{id}/deliveries offset': offset,
    });
  });

  test('lists every error code that the API sends', () => {
    const { description, properties } = document.components.schemas.Error;
    const [known] = properties.error.properties.code.anyOf;
    expect(known.enum).toEqual(Object.keys(errorCatalogue));
    for (const [code, { status }] of Object.entries(errorCatalogue)) {
      expect(description).toContain(`| ${status} | \`${code}\` |`);
    }
    // The introduction precedes the operations on the page, so the table is not in it.
    expect(document.info.description).not.toContain('|');
  });

  test('has an example of every response, and of every error code that it may have, as its schema has it', () => {
    for (const { method, path, operation } of served.operations) {
      for (const [status, { description, content }] of Object.entries<Declared>(operation.responses)) {
        const { schema, examples = {} } = content['application/json'];
        const where = `${method} ${path} ${status}`;
        expect(Object.keys(examples), `${where} has examples`).not.toEqual([]);
        const checked = served.schemaOf(schema);
        for (const { value } of Object.values(examples)) expect(checked.parse(value), where).toEqual(value);
        if (Number(status) < 400 || !path.startsWith('/v1/')) continue;
        const codes = [...description.matchAll(/^`(\w+)`: /gm)].map(([, code]) => code);
        expect(Object.keys(examples), where).toEqual(codes);
        for (const [code, { value }] of Object.entries(examples)) {
          expect(value).toMatchObject({ error: { code } });
          expect(errorCatalogue).toHaveProperty([code, 'status'], Number(status));
        }
      }
    }
  });

  test('describes every operation, parameter, response and field', () => {
    expect(JSON.stringify(document)).not.toMatch(/undefined|Default Response|"description":"\s*"/);
    for (const { method, path, operation } of served.operations) {
      const where = `${method} ${path}`;
      expect(operation, where).toMatchObject({
        operationId: expect.stringMatching(/^[a-z]+[A-Za-z]*$/),
        summary: expect.stringMatching(/\S/),
        description: expect.stringMatching(/\S/),
        tags: [expect.stringMatching(/\S/)],
      });
      for (const parameter of operation.parameters ?? []) {
        expect(parameter.description, `${where} ${parameter.name}`).toMatch(/\S/);
      }
    }
    for (const [name, schema] of Object.entries<{ properties: object }>(document.components.schemas)) {
      for (const [field, { description }] of Object.entries(schema.properties)) {
        if (name !== 'Error') expect(description, `${name}.${field}`).toMatch(/\S/);
      }
    }
  });

  test('describes every event that is sent, with its signature headers', () => {
    expect(Object.keys(document.webhooks)).toEqual([...publicEventTypes, 'timeline.root', 'webhook.test']);
    for (const [type, { post }] of Object.entries<{ post: Webhook }>(document.webhooks)) {
      expect(post.parameters.map(({ name, in: place, required }) => [name, place, required])).toEqual(
        ['webhook-id', 'webhook-timestamp', 'webhook-signature'].map((name) => [name, 'header', true]),
      );
      const { schema, examples } = post.requestBody.content['application/json'];
      const components: Record<string, string> = {
        'timeline.root': 'RootEvent',
        'webhook.test': 'TestEvent',
      };
      expect(schema).toEqual({ $ref: `#/components/schemas/${components[type] ?? 'Event'}` });
      const { value } = examples.example;
      expect(value).toMatchObject({ type });
      expect(served.schemaOf(schema).parse(value)).toEqual(value);
    }
  });

  test('leaves open what answers may have later, and says exactly what requests may have', () => {
    const answers = [
      document.components.schemas,
      served.operations.map(({ operation }) => operation.responses),
    ];
    const text = JSON.stringify(answers);
    expect(text).not.toContain('"additionalProperties":false');
    const lists = [...text.matchAll(/"enum":\[[^\]]*,[^\]]*\]\}(.{18})/g)].map(([, beside]) => beside);
    expect(lists.length).toBeGreaterThan(10);
    expect(new Set(lists)).toEqual(new Set([',{"type":"string"}']));
    const { requestBody, parameters } = document.paths['/v1/refunds'].post;
    const { schema } = requestBody.content['application/json'];
    expect(schema).toMatchObject({ additionalProperties: false, properties: { reason: { type: 'string' } } });
    const key = parameters.find(({ name }: { name: string }) => name === 'Idempotency-Key');
    expect(new RegExp(key.schema.pattern).test('return-2001')).toBe(true);
    expect(new RegExp(key.schema.pattern).test('a b')).toBe(false);
  });
});

describe('the documentation page', () => {
  test('loads all its files from this service', async () => {
    const page = await service.app.inject('/docs');
    expect([page.statusCode, page.headers['content-type']]).toEqual([200, 'text/html; charset=utf-8']);
    const assets = [...page.body.matchAll(/(?:src|href)="([^"]+)"/g)].map(([, url]) => url ?? '');
    expect(assets).toEqual(expect.arrayContaining(['/docs/reference.js', '/docs/start.js', '/openapi.json']));
    for (const asset of assets) {
      const { statusCode, rawPayload } = await service.app.inject(asset);
      expect([asset, statusCode, rawPayload.length > 0]).toEqual([asset, 200, true]);
    }
    const policy = String(page.headers['content-security-policy']);
    expect(policy).toContain("script-src 'self';");
    expect(policy).not.toMatch(/https?:|\*|unsafe-eval/);
  });

  test('has the guides, each heading with an address of its own, to which their links lead', async () => {
    const shown = (await service.app.inject('/docs/reference.json')).json();
    expect(shown).toEqual({ ...document, info: { ...document.info, description: expect.any(String) } });
    const { description } = shown.info;
    for (const title of ['Using the API', 'Test payments', 'Verify a signature', 'TypeScript client'])
      expect(description).toMatch(new RegExp(`^##+ ${title}$`, 'm'));
    const headings = [...description.matchAll(/^##+ (.+)$/gm)].map(([, heading = '']) => heading);
    // The page leaves other characters out of an address in one place alone, and does not tell equal ones apart.
    expect(headings.filter((heading) => !/^[\w -]+$/.test(heading))).toEqual([]);
    expect(headings).toEqual([...new Set(headings)]);
    const addresses = headings.map((heading) => heading.toLowerCase().replaceAll(' ', '-'));
    const links = [...description.matchAll(/\]\((?!https?:)([^)]*)\)/g)].map(([, link = '']) => link);
    expect(links.length).toBeGreaterThan(20);
    expect(links.filter((link) => !addresses.includes(link.replace('#description/', '')))).toEqual([]);
  });

  test('has a sample for every method of the TypeScript client that sends one request', () => {
    const sources = served.operations.flatMap(
      ({ operation }) => (operation as ParsedJson)['x-codeSamples'] ?? [],
    );
    const shown = sources.map(({ source }) => /await client\.(\w+\.\w+)\(/.exec(source)?.[1]);
    const client = new RefundClient({ baseUrl: 'https://refunds.example.com', apiKey: 'svc_test_x' });
    const methods = Object.entries(client).flatMap(([resource, of]) =>
      Object.getOwnPropertyNames(Object.getPrototypeOf(of)).map((method) => `${resource}.${method}`),
    );
    const others = /\.(constructor|all|dryRun)$/;
    expect(shown.toSorted()).toEqual(methods.filter((method) => !others.test(method)).toSorted());
  });
});
