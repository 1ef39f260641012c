import type { InjectOptions } from 'fastify';
import { describe, expect, test } from 'vitest';
import { unknownRefundId } from '../../support/refunds/refund-records.ts';
import { useService } from '../../support/use-service.ts';

const service = useService({ workers: 0 });

async function ask(method: string, url: string, withKey = true) {
  const authorization = `Bearer ${service.organization.keys.test.plaintext}`;
  const answer = await service.app.inject({
    method: method as NonNullable<InjectOptions['method']>,
    url,
    headers: withKey ? { authorization } : {},
  });
  const { date: _date, 'x-request-id': _id, ...headers } = answer.headers;
  return { status: answer.statusCode, headers, body: answer.body };
}

const paths = [
  '/v1/refunds',
  `/v1/refunds/${unknownRefundId}`,
  `/v1/refunds/${unknownRefundId}/cancel`,
  '/readyz',
  '/webhooks/braintree/acc_1',
];

describe('a trailing slash means the same route', () => {
  test.each(paths)('%s', async (path) => {
    for (const method of ['GET', 'HEAD', 'POST', 'DELETE', 'OPTIONS']) {
      for (const query of ['', '?bt_challenge=1', '?a=/']) {
        for (const withKey of [true, false]) {
          const where = `${method} ${path}/${query}`;
          const plain = await ask(method, `${path}${query}`, withKey);
          expect(await ask(method, `${path}/${query}`, withKey), where).toEqual(plain);
          expect(plain.status === 404 && plain.body.includes('Route not found'), where).toBe(false);
        }
      }
    }
  });

  test.each(['/v1/refunds//', '//v1', '//x/v1/refunds', '/v1/nothing/', '/v1/', '/v1/refunds/%2f'])(
    'but %s is no route or refund',
    async (path) => {
      expect((await ask('GET', path)).status).toBe(404);
    },
  );
});

test('a base URL may end with a slash', async () => {
  const plain = await ask('GET', '/v1/refunds?limit=1');
  expect(plain.status).toBe(200);
  expect(await ask('GET', '//v1/refunds?limit=1')).toEqual(plain);
  expect((await ask('GET', '//v1/refunds', false)).status).toBe(401);
});

test('the address of the service leads to the dashboard', async () => {
  for (const method of ['GET', 'HEAD']) {
    const { status, headers } = await ask(method, '/', false);
    expect([status, headers.location]).toEqual([302, '/dashboard']);
  }
  const { status, headers } = await ask('POST', '/', false);
  expect([status, headers.allow]).toEqual([405, 'GET, HEAD']);
});
