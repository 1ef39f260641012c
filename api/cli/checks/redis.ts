import { failFast, openRedis, type RedisServer, readServers } from '#shared/platform/redis.ts';
import { queueTroubles } from '#shared/platform/redis-trouble.ts';
import type { Session } from '../console/session.ts';
import { about, type Check, type Finding } from './finding.ts';

const redis = about('Redis');

/** The oldest version with all commands that queues use. */
const oldest = 6.2;

/** The share of memory in use from which writes may soon be refused. */
const muchUsed = 0.8;

/** The store of the queues. */
export const checkRedis: Check = async ({ queues, settings }) => {
  if (settings.REDIS_URL === null) return [redis.right('It is not used: the queues are in PostgreSQL.')];
  const trouble = await queues.check();
  const isMinor = trouble === 'evicts' || trouble === 'shared_prefix';
  if (trouble !== null && !isMinor) return [redis.wrong(queueTroubles[trouble])];
  const servers = await serversOf(settings);
  return [...(trouble === null ? [] : [redis.warning(queueTroubles[trouble])]), ...servers.flatMap(ofServer)];
};

async function serversOf(settings: Session['settings']): Promise<RedisServer[]> {
  const connection = openRedis(settings, { ...failFast, enableOfflineQueue: true });
  connection.on('error', () => undefined);
  try {
    // A cluster knows its nodes once it has answered.
    await connection.ping();
    return await readServers(connection);
  } finally {
    connection.disconnect();
  }
}

function ofServer({ address, version, isReplica, usedBytes, mostBytes }: RedisServer): Finding[] {
  if (version === null) {
    return [redis.right(`${address} serves; its user may not ask for version and memory.`)];
  }
  const mebibytes = (bytes: number) => `${Math.round(bytes / 1024 / 1024)} MiB`;
  const limit = mostBytes === 0 ? 'no limit' : mebibytes(mostBytes);
  return [
    Number.parseFloat(version) < oldest
      ? redis.wrong(`${address} has version ${version}, which is too old: upgrade it to ${oldest} or later.`)
      : redis.right(`${address} serves, version ${version}, ${mebibytes(usedBytes)} of ${limit} in use.`),
    ...(isReplica ? [redis.wrong(queueTroubles.read_only)] : []),
    ...(mostBytes > 0 && usedBytes > muchUsed * mostBytes
      ? [redis.warning(`${address} is almost full: raise its maxmemory.`)]
      : []),
  ];
}
