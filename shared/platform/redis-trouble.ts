// What an error of Redis says about it. It imports nothing, so that the log of any program can use it.

const troubles: readonly (readonly [RegExp, string])[] = [
  [/\bOOM /, 'Redis is full: raise its maxmemory, or remove what else is stored there.'],
  [/\bMISCONF /, 'Redis cannot save to its disk and refuses writes: read its log.'],
  [/\bREADONLY /, 'This Redis is a read-only replica: set REDIS_URL to the master.'],
  [/\bNOREPLICAS /, 'Redis has fewer replicas than its min-replicas-to-write and refuses writes.'],
  [/\b(NOAUTH|WRONGPASS) /, 'Redis refuses the user or the password in REDIS_URL.'],
  [/\bNOPERM /, 'The Redis user in REDIS_URL lacks a right: grant it ~* &* +@all -@dangerous.'],
  [/\b(LOADING|MASTERDOWN|CLUSTERDOWN|TRYAGAIN) /, 'Redis is starting, loading its data or failing over.'],
  [/\bMOVED /, 'REDIS_URL has one node of a Redis Cluster: list several, separated by commas.'],
  [/cluster support disabled/i, 'REDIS_URL lists several addresses that are no Redis Cluster: set one.'],
  [
    /unknown command/i,
    'The server at REDIS_URL lacks commands of Redis. If it is a sentinel, name it in REDIS_SENTINELS instead.',
  ],
  [
    /All sentinels are unreachable/,
    'No sentinel in REDIS_SENTINELS answers, or knows the master whose name is the host in REDIS_URL.',
  ],
  [/Failed to refresh slots cache/, 'No address in REDIS_URL answers as a node of a Redis Cluster.'],
];

const names = new Set(['ReplyError', 'ClusterAllFailedError']);

/** What is wrong with Redis and what to do, in a sentence; null for any other error. */
export function redisTroubleOf(error: unknown): string | null {
  if (!(error instanceof Error)) return null;
  if (!names.has(error.name) && !/^(Ready check failed: |All sentinels are unreachable)/.test(error.message))
    return null;
  // A cluster has the error of the node that was asked last.
  const { lastNodeError } = error as { lastNodeError?: unknown };
  const text = lastNodeError instanceof Error ? `${lastNodeError.message} ${error.message}` : error.message;
  return troubles.find(([pattern]) => pattern.test(text))?.[1] ?? null;
}
