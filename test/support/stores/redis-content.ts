import { Redis } from 'ioredis';

/** Every key of a Redis with all that it holds, as text. */
export async function everyRedisKey(url: string): Promise<{ key: string; text: string }[]> {
  const redis = new Redis(url);
  try {
    const entries = [];
    for (const key of await redis.keys('*'))
      entries.push({ key, text: JSON.stringify(await contentOf(redis, key)) });
    return entries;
  } finally {
    redis.disconnect();
  }
}

async function contentOf(redis: Redis, key: string): Promise<unknown> {
  const type = await redis.type(key);
  switch (type) {
    case 'string':
      return await redis.get(key);
    case 'hash':
      return await redis.hgetall(key);
    case 'list':
      return await redis.lrange(key, 0, -1);
    case 'set':
      return await redis.smembers(key);
    case 'zset':
      return await redis.zrange(key, 0, -1, 'WITHSCORES');
    case 'stream':
      return await redis.xrange(key, '-', '+');
    // It expired in between.
    case 'none':
      return null;
  }
  throw new Error(`Nobody reads Redis keys of type ${type} yet.`);
}
