import { beforeAll, describe, expect, test } from 'vitest';
import { useService } from '../../support/use-service.ts';

const service = useService({ workers: 0, settings: { CREATE_WAIT_MS: 0 } });

/** Requests with several faults get the first one of this order. */
describe('the order of checks', () => {
  const badJson = '{"amount":';
  const json = { 'content-type': 'application/json' };
  const xml = { 'content-type': 'text/xml' };
  const key = () => ({ authorization: `Bearer ${service.organization.keys.test.plaintext}` });
  let reading: string;
  beforeAll(async () => {
    reading = (await service.newKey({ scopes: ['refunds:read'] })).plaintext;
  });
  const readingKey = () => ({ authorization: `Bearer ${reading}` });

  test.each([
    ['the route before the key', 'GET', '/v1/nowhere', () => ({}), undefined, 404],
    ['the method before the key', 'PUT', '/v1/refunds', () => ({}), undefined, 405],
    ['the key before the media type', 'POST', '/v1/refunds', () => xml, '<a/>', 401],
    ['the key before the body', 'POST', '/v1/refunds', () => json, badJson, 401],
    [
      'the scope before the media type',
      'POST',
      '/v1/refunds',
      () => ({ ...readingKey(), ...xml }),
      '<a/>',
      403,
    ],
    ['the scope before the body', 'POST', '/v1/refunds', () => ({ ...readingKey(), ...json }), badJson, 403],
    ['the scope before the refund', 'POST', '/v1/refunds/ref_1/cancel', readingKey, undefined, 403],
    ['the media type before the body', 'POST', '/v1/refunds', () => ({ ...key(), ...xml }), badJson, 415],
    [
      'the size before the body',
      'POST',
      '/v1/refunds',
      () => ({ ...key(), ...json }),
      badJson + ' '.repeat(70_000),
      413,
    ],
  ] as const)('is %s', async (_order, method, url, headers, payload, status) => {
    const body = payload === undefined ? {} : { payload };
    const answer = await service.app.inject({ method, url, headers: headers(), ...body });
    expect(answer.statusCode).toBe(status);
  });
});
