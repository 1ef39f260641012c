import { type RunningPostgres, startPostgres } from '../support/stores/embedded-postgres.ts';
import { type RunningRedis, startRedis } from '../support/stores/redis.ts';
import type { QueueKind } from './options.ts';

/** What both pipelines keep their data in. */
export interface Stores {
  postgres: RunningPostgres;
  redis: RunningRedis | null;
  stop(): Promise<void>;
}

/** Starts PostgreSQL as `npm run dev` does, with its statements counted, and Redis for queues that are there. */
export async function startStores(queue: QueueKind): Promise<Stores> {
  const settings = {
    shared_preload_libraries: 'pg_stat_statements',
    'pg_stat_statements.max': '20000',
  };
  const postgres = await startPostgres({ durable: true, settings });
  try {
    const redis = queue === 'redis' ? await startRedis() : null;
    const stop = async () => {
      await redis?.stop();
      await postgres.stop();
    };
    return { postgres, redis, stop };
  } catch (error) {
    await postgres.stop();
    throw error;
  }
}
