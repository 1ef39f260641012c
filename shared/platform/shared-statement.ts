import DataLoader from 'dataloader';
import { isDatabaseUnavailable, isDeadlock } from './database.ts';

/** Runs an item, together with those of other requests that arrive at the same time. */
export type SharedStatement<Item, Result> = (item: Item) => Promise<Result>;

/** Items that one statement takes at most. */
const maxItems = 100;

/** A statement that failed after so long has met a database that hangs, and so would those that wait for it. */
const hangingMs = 5_000;

/**
 * Lets concurrent requests share a statement: what arrives while one is under way goes into the next one. Nothing waits when
 * none is under way. An item that makes its statement fail fails alone: the others are run once more, each by itself. What
 * waits while the database hangs is not sent any more, because it would wait as long once again.
 * @param run takes items and answers with a result for each, in their order; what one of them fails with is thrown.
 * @param lanes statements that may be under way at the same time.
 */
export function shareStatement<Item, Result>(
  run: (items: readonly Item[]) => Promise<readonly Result[]>,
  lanes = 1,
): SharedStatement<Item, Result> {
  const waiting: (() => void)[] = [];
  let underWay = 0;
  let hangs = false;
  const startNext = () => {
    if (underWay >= lanes) return;
    const start = waiting.shift();
    if (start === undefined) return;
    underWay += 1;
    start();
  };
  const loader = new DataLoader<Item, Result>(
    async (items) => {
      if (hangs) return items.map(databaseHangs);
      const since = performance.now();
      const results = await runTogether(run, items);
      underWay -= 1;
      if (performance.now() - since > hangingMs && isDatabaseUnavailable(results[0])) {
        hangs = true;
        for (const start of waiting.splice(0)) start();
        hangs = false;
      }
      startNext();
      return results;
    },
    {
      cache: false,
      maxBatchSize: maxItems,
      batchScheduleFn(start) {
        waiting.push(start);
        setImmediate(startNext);
      },
    },
  );
  return (item) => loader.load(item);
}

async function runTogether<Item, Result>(
  run: (items: readonly Item[]) => Promise<readonly Result[]>,
  items: readonly Item[],
): Promise<(Result | Error)[]> {
  try {
    return [...(await run(items))];
  } catch (error) {
    // A database that is gone is gone for each of them, and what it did before is not known of any.
    const isGone = isDatabaseUnavailable(error) && !isDeadlock(error);
    if (items.length === 1 || isGone) return items.map(() => asError(error));
  }
  const results: (Result | Error)[] = [];
  for (const item of items) {
    const result = await run([item]).then(
      ([only]) => only as Result,
      (error: unknown) => asError(error),
    );
    results.push(result);
    if (isDatabaseUnavailable(result)) break;
  }
  return [...results, ...items.slice(results.length).map(databaseHangs)];
}

function databaseHangs(): Error {
  // As PostgreSQL says it when it takes no connections: nothing was done.
  return Object.assign(new Error('The database does not answer.'), { code: '57P03' });
}

function asError(error: unknown): Error {
  return error instanceof Error ? error : new Error(String(error));
}

/**
 * The same for reads by key: a key that several requests ask for at the same moment is read once. A read that is under way is
 * not joined, because it may be older than the question.
 * @param read takes different keys and answers with what there is, by key.
 */
export function shareRead<Result>(
  read: (keys: readonly string[]) => Promise<ReadonlyMap<string, Result>>,
  lanes = 2,
): SharedStatement<string, Result | undefined> {
  return shareStatement(async (keys) => {
    const found = await read([...new Set(keys)]);
    return keys.map((key) => found.get(key));
  }, lanes);
}

/**
 * The same for reads that cost a statement each: callers that ask the same in one turn of the event loop share it, and
 * different questions do not wait for each other.
 */
export function shareQuestion<Result>(
  read: (question: string) => Promise<Result>,
): SharedStatement<string, Result> {
  const asked = new Map<string, Promise<Result>>();
  return (question) => {
    let answer = asked.get(question);
    if (answer === undefined) {
      answer = new Promise((resolve, reject) => {
        setImmediate(() => {
          asked.delete(question);
          read(question).then(resolve, reject);
        });
      });
      asked.set(question, answer);
    }
    return answer;
  };
}
