import { createHmac, hkdfSync, timingSafeEqual } from 'node:crypto';
import { mkdir, readFile, rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { z } from 'zod';
import type { ServiceSettings } from '../../platform/config.ts';
import { type Logger, warnSparingly } from '../../platform/log.ts';
import { failFast, openRedis } from '../../platform/redis.ts';
import { encryptionKeys } from '../../platform/secrets/secrets.ts';

const markSchema = z.object({ generation: z.string(), position: z.int().positive(), eventId: z.string() });

const signedMarkSchema = markSchema.extend({ signature: z.string() });

/** The last event of the feed that was seen in a database; another generation begins with each recovery. */
export type PositionMark = z.infer<typeof markSchema>;

/**
 * The last events that workers have seen, kept outside of the database: one that does not have them was restored from a backup. See
 * prisma/functions/refunds/may_advance.sql.
 */
export interface PositionMarks {
  /** What was seen last, in each place. */
  readonly reached: readonly PositionMark[];
  /** Reads what other processes have kept. */
  read(): Promise<void>;
  /**
   * Keeps a mark of a database that has all of `reached`. Leaves a place where another mark was kept since `read`, because it is not
   * known whether the database has that one. Never throws.
   */
  keep(mark: PositionMark): Promise<void>;
  close(): void;
}

interface Place<Content> {
  read(): Promise<Content | null>;
  write(content: Content): Promise<unknown>;
  close(): void;
}

/** The marks of a worker: in a file of `DATA_DIR`, and in Redis where the queues are. */
export function openPositionMarks(settings: ServiceSettings, log: Logger): PositionMarks {
  const places = [fileIn(settings.DATA_DIR), ...(settings.REDIS_URL === null ? [] : [keyIn(settings)])];
  return marksIn(
    places.map((place) => signedIn(place, encryptionKeys(settings))),
    warnSparingly(
      log,
      'the position in the event feed can be kept nowhere; a restored backup would not be noticed',
    ),
  );
}

/** Marks that end with the process. */
export function marksInMemory(): PositionMarks {
  return marksIn([], () => undefined);
}

/** @param warn called when no place can keep a mark. */
function marksIn(places: readonly Place<PositionMark>[], warn: (error: unknown) => void): PositionMarks {
  const found = new Map<Place<PositionMark> | null, PositionMark>();
  const readFrom = async (place: Place<PositionMark>) => {
    const mark = await place.read();
    if (mark !== null) found.set(place, mark);
    return mark;
  };
  const keepIn = async (place: Place<PositionMark>, mark: PositionMark) => {
    const known = found.get(place);
    const kept = await readFrom(place);
    if (kept !== null && kept.eventId !== known?.eventId) return;
    if (kept?.generation === mark.generation && kept.position >= mark.position) return;
    await place.write(mark);
    found.set(place, mark);
  };
  return {
    get reached() {
      return [...found.values()];
    },
    async read() {
      await Promise.allSettled(places.map(readFrom));
    },
    async keep(mark) {
      found.set(null, mark);
      const keeping = await Promise.allSettled(places.map((place) => keepIn(place, mark)));
      const failed = keeping.filter((each) => each.status === 'rejected');
      if (failed.length > 0 && failed.length === places.length) warn(failed[0]?.reason);
    },
    close() {
      for (const place of places) place.close();
    },
  };
}

/**
 * Signs what is kept in a place. What cannot be read is no mark, such as a file that was cut off, and neither is what others have
 * written: one that the database lacks would stop all refunds.
 * @param keys the encryption keys, the current one first.
 */
function signedIn(
  { read, write, close }: Place<string>,
  keys: readonly [string, ...string[]],
): Place<PositionMark> {
  return {
    async read() {
      const text = await read();
      try {
        const { signature, ...mark } = signedMarkSchema.parse(JSON.parse(text ?? 'null'));
        const given = Buffer.from(signature);
        const isOurs = keys.some((key) => {
          const expected = Buffer.from(signatureOf(mark, key));
          return given.length === expected.length && timingSafeEqual(given, expected);
        });
        return isOurs ? mark : null;
      } catch {
        return null;
      }
    },
    write: (mark) => write(JSON.stringify({ ...mark, signature: signatureOf(mark, keys[0]) })),
    close,
  };
}

function signatureOf({ generation, position, eventId }: PositionMark, encryptionKey: string): string {
  // A key of its own, so that signatures made for other purposes are invalid here.
  const key = hkdfSync('sha256', Buffer.from(encryptionKey, 'base64'), '', 'position in the event feed', 32);
  return createHmac('sha256', Buffer.from(key))
    .update(JSON.stringify([generation, position, eventId]))
    .digest('base64url');
}

function fileIn(folder: string): Place<string> {
  const path = join(folder, 'feed-position.json');
  return {
    async read() {
      return await readFile(path, 'utf8').catch((error: NodeJS.ErrnoException) => {
        if (error.code === 'ENOENT') return null;
        throw error;
      });
    },
    async write(text) {
      await mkdir(folder, { recursive: true });
      const whole = `${path}.${process.pid}`;
      await writeFile(whole, text);
      await rename(whole, path);
    },
    close: () => undefined,
  };
}

function keyIn(settings: ServiceSettings): Place<string> {
  // The first read comes before the connection, which it waits for: a worker must know what was seen before it claims anything.
  const redis = openRedis(settings, { ...failFast, enableOfflineQueue: true });
  redis.on('error', () => undefined);
  const key = `{${settings.QUEUE_PREFIX}}:feed-position`;
  return {
    read: () => inTime(redis.get(key)),
    write: (text) => inTime(redis.set(key, text)),
    close: () => redis.disconnect(),
  };
}

/** A cluster that is unreachable keeps commands for ever: their own time limit begins when a node is known. */
async function inTime<Answer>(answer: Promise<Answer>): Promise<Answer> {
  const waited = new AbortController();
  const overdue = sleep(longestAnswerMs, null, { signal: waited.signal }).then(() => {
    throw new Error('Redis did not answer in time.');
  });
  try {
    return await Promise.race([answer, overdue]);
  } finally {
    waited.abort();
  }
}

/** A little longer than the limit of a command. */
const longestAnswerMs = 1_500;
