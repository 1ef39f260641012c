import { readdirSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { beforeAll, describe, expect, test } from 'vitest';
import { breakingChanges } from '../../support/http/breaking-changes.ts';
import { readDocument } from '../../support/http/openapi-document.ts';
import type { ParsedJson } from '../../support/parsed-json.ts';
import { useService } from '../../support/use-service.ts';

const service = useService({ workers: 0 });
let document: ParsedJson;
beforeAll(async () => {
  document = (await readDocument(service)).document;
});

const folder = resolve('docs');
const releases = readdirSync(folder).filter((name) => /^openapi-\d+\.\d+\.\d+\.json$/.test(name));

test.each(releases)('a client that was built for %s works', (release) => {
  expect(breakingChanges(JSON.parse(readFileSync(join(folder, release), 'utf8')), document)).toEqual([]);
});

describe('what would break a client is found', () => {
  const operation = (later: ParsedJson, method = 'post') => later.paths['/v1/refunds'][method];
  const input = (later: ParsedJson) => operation(later).requestBody.content['application/json'].schema;
  const refund = (later: ParsedJson) => later.components.schemas.Refund;
  const parameter = (later: ParsedJson, wanted: string) =>
    operation(later, 'get').parameters.find(({ name }: { name: string }) => name === wanted);

  test.each<[change: string, edit: (later: ParsedJson) => unknown, found: RegExp]>([
    ['a removed operation', (later) => delete later.paths['/v1/events'].get, /^GET \/v1\/events: removed$/],
    [
      'a renamed operation',
      (later) => (operation(later).operationId = 'makeRefund'),
      /operationId createRefund: removed/,
    ],
    [
      'another scope',
      (later) => operation(later).security[0].apiKey.push('keys:manage'),
      /needs keys:manage/,
    ],
    ['a removed field', (later) => delete refund(later).properties.currency, /200\.data\.currency: removed/],
    ['a field that may be missing', (later) => refund(later).required.pop(), /no longer required/],
    [
      'a field that may be null',
      (later) => (refund(later).properties.amount = { anyOf: [{ type: 'integer' }, { type: 'null' }] }),
      /\.amount may be null/,
    ],
    [
      'a status that is gone',
      (later) => refund(later).properties.status.anyOf[0].enum.pop(),
      /\.status "cancelled": removed/,
    ],
    ['a webhook that is gone', (later) => delete later.webhooks['refund.failed'], /^refund\.failed: removed/],
    [
      'an error code that is gone',
      (later) => delete operation(later).responses[403].content['application/json'].examples.policy_denied,
      /403 policy_denied: removed/,
    ],
    [
      'a header that is gone',
      (later) => delete operation(later).responses[200].headers['Idempotent-Replayed'],
      /header Idempotent-Replayed: removed/,
    ],
    [
      'a new required input',
      (later) => input(later).required.push('currency'),
      /body\.currency: now required/,
    ],
    [
      'an input with fewer values',
      (later) => input(later).properties.reason.enum.pop(),
      /body.*\.reason "other": removed/,
    ],
    ['a parameter that is required', (later) => (parameter(later, 'status').required = true), /now required/],
  ])('the comparison of two documents finds %s', (_change, edit, found) => {
    const later = structuredClone(document);
    edit(later);
    const changes = breakingChanges(document, later);
    expect(changes).not.toEqual([]);
    expect(changes.join('\n')).toMatch(found);
  });

  test('but not what clients do not notice: further operations, fields, statuses, parameters, optional inputs, errors', () => {
    const later = structuredClone(document);
    later.paths['/v1/payments'] = later.paths['/v1/events'];
    refund(later).properties.arrival = { type: 'string' };
    refund(later).required.push('arrival');
    refund(later).properties.status.anyOf[0].enum.push('disputed');
    operation(later, 'get').parameters.push({ in: 'query', name: 'arrival', schema: { type: 'string' } });
    input(later).properties.remaining = { type: 'boolean' };
    input(later).properties.reason.enum.push('fraud');
    input(later).properties.transactionId.maxLength = 300;
    input(later).required.pop();
    operation(later).responses[418] = operation(later).responses[409];
    expect(breakingChanges(document, later)).toEqual([]);
  });
});
