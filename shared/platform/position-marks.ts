import { mkdir, readFile, rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { z } from 'zod';
import type { ServiceSettings } from './config.ts';
import { type Logger, warnSparingly } from './log.ts';
import { failFast, openRedis } from './queues.ts';

const markSchema = z.object({ generation: z.string(), position: z.int().positive(), eventId: z.string() });

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

interface Place {
  read(): Promise<string | null>;
  write(text: string): Promise<unknown>;
  close(): void;
}

/** The marks of a worker: in a file of `DATA_DIR`, and in Redis where the queues are. */
export function openPositionMarks(settings: ServiceSettings, log: Logger): PositionMarks {
  const places = [fileIn(settings.DATA_DIR), ...(settings.REDIS_URL === null ? [] : [keyIn(settings)])];
  return marksIn(
    places,
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
function marksIn(places: readonly Place[], warn: (error: unknown) => void): PositionMarks {
  const found = new Map<Place | null, PositionMark>();
  const readFrom = async (place: Place) => {
    const mark = parse(await place.read());
    if (mark !== null) found.set(place, mark);
    return mark;
  };
  const keepIn = async (place: Place, mark: PositionMark) => {
    const known = found.get(place);
    const kept = await readFrom(place);
    if (kept !== null && kept.eventId !== known?.eventId) return;
    if (kept?.generation === mark.generation && kept.position >= mark.position) return;
    await place.write(JSON.stringify(mark));
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

/** What cannot be read, such as a file that was cut off, is not a mark. */
function parse(text: string | null): PositionMark | null {
  try {
    return markSchema.parse(JSON.parse(text ?? 'null'));
  } catch {
    return null;
  }
}

function fileIn(folder: string): Place {
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

function keyIn({ REDIS_URL, QUEUE_PREFIX }: ServiceSettings): Place {
  // The first read comes before the connection, which it waits for: a worker must know what was seen before it claims anything.
  const redis = openRedis(REDIS_URL ?? '', { ...failFast, enableOfflineQueue: true });
  redis.on('error', () => undefined);
  const key = `{${QUEUE_PREFIX}}:feed-position`;
  return {
    read: () => redis.get(key),
    write: (text) => redis.set(key, text),
    close: () => redis.disconnect(),
  };
}
