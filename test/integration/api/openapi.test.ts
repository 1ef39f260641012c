import { Validator } from '@seriousme/openapi-schema-validator';
import { beforeAll, describe, expect, test } from 'vitest';
import { errorCatalogue } from '../../../shared/platform/errors.ts';
import { readDocument, type ServedDocument } from '../../support/http/openapi-document.ts';
import { useService } from '../../support/use-service.ts';

const service = useService({ workers: 0 });
let served: ServedDocument;
// biome-ignore lint/suspicious/noExplicitAny: the tests read a document whose shape the validator vouches for.
let document: any;
beforeAll(async () => {
  served = await readDocument(service);
  document = served.document;
});

describe('the OpenAPI document', () => {
  test('is valid OpenAPI 3.1, as an independent validator sees it', async () => {
    const validator = new Validator();
    const { valid, errors } = await validator.validate(structuredClone(document));
    expect(errors ?? []).toEqual([]);
    expect([valid, validator.version]).toEqual([true, '3.1']);
  });

  test('names its schemas, and nothing that is not used', () => {
    const names = Object.keys(document.components.schemas).toSorted();
    expect(names).toEqual(['CheckPolicy', 'CreateRefund', 'Error', 'Event', 'PolicyCheck', 'Refund']);
    for (const kind of ['schemas', 'headers']) {
      for (const name of Object.keys(document.components[kind])) {
        expect(JSON.stringify(document)).toContain(`"#/components/${kind}/${name}"`);
      }
    }
  });

  test('has every route with every method that it takes, and no other', async () => {
    const routes = publicRoutes();
    expect(Object.keys(document.paths).toSorted()).toEqual(routes.toSorted());
    for (const path of routes) {
      for (const method of ['get', 'post', 'put', 'patch', 'delete'] as const) {
        const url = path.replace('{id}', 'ref_1');
        const { statusCode } = await service.app.inject({ method, url });
        expect([path, method, statusCode === 405]).toEqual([path, method, !(method in document.paths[path])]);
      }
    }
  });

  test('tells every code of the catalogue and its status', () => {
    const codes = document.components.schemas.Error.properties.error.properties.code.enum;
    // The dashboard alone sends insufficient_scope.
    const { insufficient_scope: _, ...sent } = errorCatalogue;
    expect(codes).toEqual(Object.keys(sent));
    for (const [code, { status }] of Object.entries(sent)) {
      expect(document.info.description).toContain(`| ${status} | \`${code}\` |`);
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

  test('has examples that its own schemas accept', () => {
    for (const [name, schema] of Object.entries<{ examples: unknown[] }>(document.components.schemas)) {
      expect(schema.examples?.length, `${name} has an example`).toBeGreaterThan(0);
      for (const example of schema.examples)
        expect(served.schemaOf(schema).parse(example)).toMatchObject(example as object);
    }
  });

  test('demands what the service demands: a body to create, none to cancel, a key for all but health', () => {
    const bodies = served.operations.map(({ operation }) => [
      operation.operationId,
      operation.requestBody?.required,
    ]);
    expect(Object.fromEntries(bodies)).toEqual({
      health: undefined,
      readiness: undefined,
      createRefund: true,
      listRefunds: undefined,
      getRefund: undefined,
      cancelRefund: undefined,
      listRefundEvents: undefined,
      listEvents: undefined,
      checkPolicy: true,
    });
    for (const { path, operation } of served.operations) {
      expect(operation.security).toEqual(path.startsWith('/v1/') ? [{ apiKey: [] }] : undefined);
    }
    const query = document.paths['/v1/refunds'].get.parameters;
    expect(
      query.map(({ name, schema: { type } }: { name: string; schema: { type: string } }) => [name, type]),
    ).toEqual([
      ['status', 'string'],
      ['processor', 'string'],
      ['limit', 'integer'],
      ['offset', 'integer'],
    ]);
  });

  test('declares on every route under /v1 what any of them may answer', () => {
    for (const { path, operation } of served.operations.filter(({ path }) => path.startsWith('/v1/'))) {
      expect(Object.keys(operation.responses), path).toEqual(
        expect.arrayContaining(['200', '400', '401', '429', '500', '503']),
      );
    }
  });

  /** The routes that the router knows, but for those that show the document itself, and those for processors alone. */
  function publicRoutes(): string[] {
    const trail: string[] = [];
    const paths: string[] = [];
    for (const line of service.app.printRoutes({ commonPrefix: false }).trimEnd().split('\n')) {
      const [, branch = '', segment = ''] = /^(.*?── )(\S+)/.exec(line) ?? [];
      trail.splice(branch.length / 4 - 1, Number.POSITIVE_INFINITY, segment);
      paths.push(trail.join('').replace(/:(\w+)/g, '{$1}'));
    }
    return paths.filter((path) => !/^\/(docs|openapi\.json|webhooks|dashboard)/.test(path));
  }
});

describe('the browsable documentation', () => {
  test('is served whole, from here and nowhere else', async () => {
    const page = await service.app.inject('/docs/');
    expect([page.statusCode, page.headers['content-type']]).toEqual([200, 'text/html; charset=utf-8']);
    const assets = [...page.body.matchAll(/(?:src|href)="([^"]+)"/g)].map(([, url]) => url ?? '');
    expect(assets.length).toBeGreaterThan(5);
    for (const asset of assets) {
      expect(asset).toMatch(/^\.\//);
      const { statusCode, rawPayload } = await service.app.inject(`/docs/${asset.slice(2)}`);
      expect([asset, statusCode, rawPayload.length > 0]).toEqual([asset, 200, true]);
    }
    const policy = String(page.headers['content-security-policy']);
    expect(policy).toContain("script-src 'self'");
    expect(policy).not.toMatch(/https?:|\*|unsafe-eval/);
    expect((await service.app.inject('/docs')).statusCode).toBe(200);
  });

  test('shows this very document', async () => {
    const shown = await service.app.inject('/docs/json');
    expect(shown.json()).toEqual(document);
  });
});
