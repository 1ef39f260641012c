import { afterAll, beforeAll, beforeEach, describe, expect, inject, test } from 'vitest';
import {
  askBoard as ask,
  boardUrl as prefix,
  startBoard,
  type TestBoard,
} from '#test/support/dashboard/queue-board.ts';
import { OwnPostgres, OwnRedis } from '#test/support/faults/stores.ts';
import { postgresQueues } from '#test/support/stores/backends.ts';
import { useEmptyDatabase } from '#test/support/stores/database.ts';
import { waitFor } from '#test/support/wait-for.ts';

/** A board that waited for the queues would not answer. */
async function expectUnavailable(board: TestBoard): Promise<void> {
  board.setAccess(true);
  const wanted = [
    ['GET', `${prefix}/api/queues`],
    ['GET', `${prefix}/api/redis/stats`],
    ['GET', `${prefix}/api/job-schedulers`],
    ['GET', `${prefix}/api/queues/refunds-stripe/1`],
  ] as const;
  await Promise.all(
    wanted.map(async ([method, url]) => {
      const { statusCode, headers, body } = await ask(board, method, url);
      expect({ url, statusCode }).toEqual({ url, statusCode: 503 });
      expect(headers['retry-after']).toBe('2');
      expect(JSON.parse(body).message).toMatch(/^The queues are not responding/);
    }),
  );
  expect((await ask(board, 'GET', prefix)).statusCode).toBe(200);
}

async function waitUntilWorking(board: TestBoard): Promise<void> {
  const url = `${prefix}/api/queues`;
  await waitFor('the board to work', async () => (await ask(board, 'GET', url)).statusCode === 200);
}

describe.skipIf(inject('redisUrl') === null)('when Redis does not respond', () => {
  const databaseUrl = useEmptyDatabase();
  let redis: OwnRedis;
  let board: TestBoard;
  beforeEach(async () => {
    redis = await OwnRedis.prepare();
    board = await startBoard(databaseUrl(), { name: 'redis', redisUrl: redis.url }, { workers: false });
    return async () => {
      await board.close();
      await redis.stop();
    };
  });

  test('the board reports that it never started or was stopped', async () => {
    await expectUnavailable(board);
    await redis.start();
    await waitUntilWorking(board);
    await redis.stop();
    await expectUnavailable(board);
  });

  test('the board reports that it is frozen, and recovers', async () => {
    await redis.start();
    await waitFor('the queues to be there', async () => (await board.queues.check()) === null);
    redis.freeze();
    await expectUnavailable(board);
    redis.thaw();
    await waitUntilWorking(board);
  });
});

describe('when PostgreSQL does not respond', () => {
  let postgres: OwnPostgres;
  let board: TestBoard;
  beforeAll(async () => {
    postgres = await OwnPostgres.open();
    board = await startBoard(postgres.url, postgresQueues, { workers: false });
    expect(await board.queues.check()).toBeNull();
  });
  afterAll(async () => {
    await postgres.stop();
    await board.close();
    await postgres.remove();
  });

  test('the board reports that it is frozen or stopped', async () => {
    postgres.freeze();
    await expectUnavailable(board);
    postgres.thaw();
    await waitUntilWorking(board);
    await postgres.stop();
    await expectUnavailable(board);
  });
});
