import type { InjectOptions } from 'fastify';
import { beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { isReading } from '#api/dashboard/queues/board-access.ts';
import { ServiceError } from '#shared/platform/errors.ts';
import {
  askBoard as ask,
  failedJob,
  jobsOf,
  boardUrl as prefix,
  startBoard,
} from '#test/support/dashboard/queue-board.ts';
import { noteRegisteredRoutes } from '#test/support/http/registered-routes.ts';
import { madeBeforeTests } from '#test/support/made-before-tests.ts';
import { queueBackends } from '#test/support/stores/backends.ts';
import { useEmptyDatabase } from '#test/support/stores/database.ts';

/** The routes that read. All others that the library registers are refused. */
const reading = [
  ...['', '/', '/job-schedulers', '/queue/:queueName', '/queue/:queueName/:jobId', '/static/*'],
  ...['/api/redis/stats', '/api/queues', '/api/job-schedulers'],
  ...['metrics', 'default-job-options', 'workers', 'rate-limit', 'job-data-schema'].map(ofQueue),
  ...[':jobId', ':jobId/logs', ':jobId/flow'].map(ofQueue),
].map((path) => `GET ${prefix}${path}`);

function ofQueue(path: string): string {
  return `/api/queues/:queueName/${path}`;
}

const registered = noteRegisteredRoutes();

function rows() {
  const found = registered.filter(({ url }) => url.startsWith(prefix));
  const routes = new Set(found.map(({ method, url }) => `${method === 'HEAD' ? 'GET' : method} ${url}`));
  return [...routes].map((route) => {
    const [method = '', url = ''] = route.split(' ');
    return {
      route,
      method: method as NonNullable<InjectOptions['method']>,
      url,
      isReading: reading.includes(route),
    };
  });
}

function urlWith(url: string, jobId: string): string {
  return url
    .replace(':queueName', 'refunds-stripe')
    .replace(':jobId', jobId)
    .replace(':queueStatus', 'failed')
    .replace(':schedulerId', 'expire-events')
    .replace('*', 'favicon.ico');
}

test('denies access to an unknown route', () => {
  for (const [method, path] of [
    ['GET', '/api/queues/:queueName/secrets'],
    ['PUT', '/api/queues/:queueName/explode'],
    ['DELETE', '/api/queues'],
    ['PUT', '/api/queues'],
    ['GET', '/api/queues/:queueName/promote'],
  ] as const) {
    expect(isReading(method, path), `${method} ${path}`).toBe(false);
  }
});

describe.each(queueBackends)('the queue board on $name', (backend) => {
  const databaseUrl = useEmptyDatabase();
  const board = madeBeforeTests(
    'The board',
    () => startBoard(databaseUrl(), backend),
    (made) => made.close(),
  );
  let jobId: string;
  beforeAll(async () => {
    await board.app.ready();
    board.setAccess(true);
    jobId = (await failedJob(board)).id;
  });
  beforeEach(() => board.setAccess(true));

  test('has the routes of the table, and others', () => {
    const routes = rows().map(({ route }) => route);
    expect(routes).toEqual(expect.arrayContaining(reading));
    expect(rows().filter((row) => !row.isReading).length).toBeGreaterThan(15);
  });

  test('refuses every route without access', async () => {
    for (const { route, method, url } of rows()) {
      board.setAccess(false);
      const refused = await ask(board, method, urlWith(url, jobId));
      expect([refused.statusCode, refused.json().error.code], route).toEqual([403, 'insufficient_scope']);
      board.setAccess(new ServiceError('invalid_api_key', 'Sign in first.'));
      const thrown = await ask(board, method, urlWith(url, jobId));
      expect([thrown.statusCode, thrown.json().error.message], route).toEqual([401, 'Sign in first.']);
    }
  });

  test('lets an operator read, also without the headers of a browser', async () => {
    for (const { route, url } of rows().filter((row) => row.isReading)) {
      expect((await ask(board, 'GET', urlWith(url, jobId), {})).statusCode, route).toBe(200);
      expect((await ask(board, 'HEAD', urlWith(url, jobId))).statusCode, route).toBe(200);
    }
  });

  test('refuses everyone what runs, empties, pauses or changes a queue', async () => {
    for (const { route, method, url } of rows().filter((row) => !row.isReading)) {
      const { statusCode, body } = await ask(board, method, urlWith(url, jobId));
      const { error, message } = JSON.parse(body);
      expect([statusCode, error.code], route).toEqual([403, 'insufficient_scope']);
      // The board's pages read the message from there.
      expect(message, route).toBe(error.message);
    }
    expect(await jobsOf(board, 'refunds-stripe', 'failed')).toHaveLength(1);
  });

  test('responds with 404 to unknown addresses', async () => {
    for (const [method, path] of [
      ['GET', '/nothing'],
      ['GET', '/static/nothing.js'],
      ['DELETE', '/api/queues'],
    ] as const) {
      expect((await ask(board, method, `${prefix}${path}`)).statusCode, path).toBe(404);
    }
  });

  test('refuses parameters that no store accepts', async () => {
    const jobs = `${prefix}/api/queues/refunds-stripe`;
    expect((await ask(board, 'GET', `${jobs}/x%00y`)).statusCode).toBe(404);
    for (const query of ['page=99999999999999999999', 'page=-1', 'jobsPerPage=100000000', 'page=1e3']) {
      const list = `${prefix}/api/queues?activeQueue=refunds-stripe&status=failed&${query}`;
      expect((await ask(board, 'GET', list)).statusCode, query).toBe(400);
    }
    for (const list of ['queues?activeQueue=%25', 'job-schedulers?queueName=%25']) {
      expect((await ask(board, 'GET', `${prefix}/api/${list}`)).statusCode, list).toBe(400);
    }
    const shown = `${prefix}/api/queues?activeQueue=refunds-stripe&status=failed&page=2&jobsPerPage=50`;
    expect((await ask(board, 'GET', shown)).statusCode).toBe(200);
  });

  test('serves a page whose files all come from this host', async () => {
    const page = await ask(board, 'GET', prefix);
    expect(page.headers['content-security-policy']).toMatch(/^default-src 'self';/);
    expect(page.headers['content-security-policy']).not.toContain('unsafe');
    expect(page.body).not.toMatch(/https?:|style=|<style/);
    const files = [...page.body.matchAll(/(?:src|href)="(static\/[^"]+)"/g)].map(([, file]) => file);
    expect(files.length).toBeGreaterThan(4);
    for (const file of files) {
      const { statusCode, headers } = await ask(board, 'GET', `${prefix}/${file}`);
      expect({ file, statusCode }).toEqual({ file, statusCode: 200 });
      expect(headers['content-type']).toMatch(/javascript|css|image/);
    }
  });
});
