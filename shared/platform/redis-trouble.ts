// What is wrong with Redis. It imports nothing, so that the log of any program can use it.

/** What Redis refuses or lacks: what its error says, and what to do. */
const refusals = {
  full: [/\bOOM /, 'Redis is full: raise its maxmemory, or remove what else is stored there.'],
  cannot_save: [/\bMISCONF /, 'Redis cannot save to its disk and refuses writes: read its log.'],
  read_only: [/\bREADONLY /, 'This Redis is a read-only replica: set REDIS_URL to the master.'],
  too_few_replicas: [
    /\bNOREPLICAS /,
    'Redis has fewer replicas than its min-replicas-to-write and refuses writes.',
  ],
  access_refused: [/\b(NOAUTH|WRONGPASS) /, 'Redis refuses the user or the password in REDIS_URL.'],
  right_missing: [
    /\bNOPERM /,
    'The Redis user in REDIS_URL lacks a right: grant it ~* &* +@all -@dangerous.',
  ],
  starting: [
    /\b(LOADING|MASTERDOWN|CLUSTERDOWN|TRYAGAIN) /,
    'Redis is starting, loading its data or failing over.',
  ],
  one_of_cluster: [
    /\bMOVED /,
    'REDIS_URL has one node of a Redis Cluster: list several, separated by commas.',
  ],
  no_cluster: [
    /cluster support disabled/i,
    'REDIS_URL lists several addresses that are no Redis Cluster: set one.',
  ],
  no_redis: [
    /unknown command/i,
    'The server at REDIS_URL lacks commands of Redis. If it is a sentinel, name it in REDIS_SENTINELS instead.',
  ],
  no_sentinel: [
    /All sentinels are unreachable/,
    'No sentinel in REDIS_SENTINELS answers, or knows the master whose name is the host in REDIS_URL.',
  ],
  no_node: [/Failed to refresh slots cache/, 'No address in REDIS_URL answers as a node of a Redis Cluster.'],
} as const satisfies Record<string, readonly [RegExp, string]>;

/** What is wrong with the store of the queues, and what to do. */
export const queueTroubles = {
  ...(Object.fromEntries(Object.entries(refusals).map(([code, [, words]]) => [code, words])) as Record<
    keyof typeof refusals,
    string
  >),
  unreachable: 'The store of the queues does not answer: start it, or correct REDIS_URL.',
  evicts: 'Redis may remove keys of the queues: set maxmemory-policy to noeviction.',
  shared_prefix:
    'Another installation uses the same Redis with the same prefix: set QUEUE_PREFIX in one of them.',
};

export type QueueTrouble = keyof typeof queueTroubles;

const names = new Set(['ReplyError', 'ClusterAllFailedError']);

/** What an error of Redis says of it; null for any other error. */
export function refusalOfRedis(error: unknown): keyof typeof refusals | null {
  if (!(error instanceof Error)) return null;
  if (!names.has(error.name) && !/^(Ready check failed: |All sentinels are unreachable)/.test(error.message))
    return null;
  // A cluster has the error of the node that was asked last.
  const { lastNodeError } = error as { lastNodeError?: unknown };
  const text = lastNodeError instanceof Error ? `${lastNodeError.message} ${error.message}` : error.message;
  const codes = Object.keys(refusals) as (keyof typeof refusals)[];
  return codes.find((code) => refusals[code][0].test(text)) ?? null;
}

/** What is wrong with Redis and what to do, in a sentence; null for any other error. */
export function redisTroubleOf(error: unknown): string | null {
  const refusal = refusalOfRedis(error);
  return refusal === null ? null : queueTroubles[refusal];
}
