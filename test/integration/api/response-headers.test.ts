import type { InjectOptions } from 'fastify';
import { beforeAll, describe, expect, test } from 'vitest';
import { useExposedService } from '../../support/http/exposed-service.ts';
import { rawRequest } from '../../support/http/raw-http.ts';
import { noteRegisteredRoutes } from '../../support/http/registered-routes.ts';

const registered = noteRegisteredRoutes();
const exposed = useExposedService();
// Loads the pages with their routes.
beforeAll(async () => {
  await exposed.service.app.inject('/');
});

/** What a browser must know of every response, so that it neither guesses, frames, runs nor passes on anything. */
function expectProtected(headers: Record<string, unknown>, of: string): void {
  expect(headers, of).toMatchObject({
    'content-security-policy': expect.stringContaining("default-src '"),
    'referrer-policy': expect.any(String),
    'strict-transport-security': expect.stringMatching(/^max-age=31536000/),
    'x-content-type-options': 'nosniff',
    'x-frame-options': expect.stringMatching(/^(DENY|SAMEORIGIN)$/),
  });
}

const ask = async (method: string, url: string, headers: Record<string, string> = {}) =>
  await exposed.service.app.inject({ method: method as NonNullable<InjectOptions['method']>, url, headers });
const bearer = () => ({ authorization: `Bearer ${exposed.service.organization.keys.test.plaintext}` });

/** Public files, which are the same for everyone. */
const isCacheable = (url: string) =>
  /^\/(docs|openapi|dashboard\/(assets|queues\/static))/.test(url) || url === '/';

test('every response has security headers, and none with data of an organization is stored by a cache', async () => {
  expect(registered.length).toBeGreaterThan(100);
  const paths = new Set(registered.map(({ method, url }) => `${method} ${url.replace(/:\w+|\*/g, 'x')}`));
  for (const path of paths) {
    const [method = '', url = ''] = path.split(' ');
    for (const headers of url.startsWith('/dashboard') ? [{}] : [{}, bearer()]) {
      const answer = await ask(method, url, headers);
      expectProtected(answer.headers, path);
      if (!isCacheable(url)) expect(answer.headers['cache-control'], path).toBe('no-store');
    }
  }
});

describe('a refusal before any route has the same headers', () => {
  test.each([
    ['GET', '/v1/nothing', 404],
    ['GET', '/dashboard/nothing', 404],
    ['GET', '/dashboard/queues/nothing', 303],
    ['GET', '/docs/nothing', 404],
    ['PUT', '/v1/refunds', 405],
    ['GET', '/v1/%zz', 400],
    ['GET', '/dashboard/%zz', 400],
  ])('%s %s', async (method, url, status) => {
    const answer = await ask(method, url);
    expect(answer.statusCode).toBe(status);
    expectProtected(answer.headers, url);
    expect(answer.headers['cache-control']).toBe('no-store');
  });

  test.each([
    ['bytes that are not HTTP', 'hello\r\n\r\n'],
    ['a request without a host', rawRequest(['GET /v1/refunds HTTP/1.1', 'Connection: close'])],
  ])('%s', async (what, bytes) => {
    const answer = await exposed.send(Buffer.from(bytes));
    expect(answer.status).toBe(400);
    expectProtected(answer.headers, what);
    expect(answer.headers['cache-control']).toBe('no-store');
  });
});
