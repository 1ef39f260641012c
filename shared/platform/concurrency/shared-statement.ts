import DataLoader from 'dataloader';
import { isDatabaseUnavailable, isDeadlock } from '../database.ts';

/** Runs an item together with those of concurrent requests. */
export type SharedStatement<Item, Result> = (item: Item) => Promise<Result>;

/** The most items of a statement. */
const maxItems = 100;

/** After a failure that took this long, the database hangs, and waiting items are failed as well. */
const hangingMs = 5_000;

/**
 * Lets concurrent requests share a statement: items that arrive while one is running go into the next one. Without a running
 * statement nothing waits, unless `gatherMs` is given. An item that makes the statement fail fails alone: the others run again, one
 * by one. While the database hangs, waiting items fail instead of waiting as long again.
 * @param run returns a result per item, in the order of the items, or throws.
 * @param lanes how many statements may run at the same time.
 * @param gatherMs how long the first item of a statement waits for others, where each statement costs more than that is worth.
 */
export function shareStatement<Item, Result>(
  run: (items: readonly Item[]) => Promise<readonly Result[]>,
  { lanes = 1, gatherMs = 0 } = {},
): SharedStatement<Item, Result> {
  const waiting: { start: () => void; isReady: boolean }[] = [];
  let underWay = 0;
  let hangs = false;
  const startNext = () => {
    if (underWay >= lanes || waiting[0]?.isReady !== true) return;
    underWay += 1;
    waiting.shift()?.start();
  };
  const loader = new DataLoader<Item, Result>(
    async (items) => {
      if (hangs) return items.map(databaseHangs);
      const since = performance.now();
      const results = await runTogether(run, items);
      underWay -= 1;
      if (performance.now() - since > hangingMs && isDatabaseUnavailable(results[0])) {
        hangs = true;
        for (const { start } of waiting.splice(0)) start();
        hangs = false;
      }
      startNext();
      return results;
    },
    {
      cache: false,
      maxBatchSize: maxItems,
      batchScheduleFn(start) {
        const turn = { start, isReady: false };
        waiting.push(turn);
        const makeReady = () => {
          turn.isReady = true;
          startNext();
        };
        if (gatherMs > 0) setTimeout(makeReady, gatherMs);
        else setImmediate(makeReady);
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
    // With an unavailable database the outcome is unknown for every item.
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
  // The code of a database that accepts no connections: nothing was done.
  return Object.assign(new Error('The database does not respond.'), { code: '57P03' });
}

function asError(error: unknown): Error {
  return error instanceof Error ? error : new Error(String(error));
}

/** A shared statement for each organization, where an item may take long: those of others do not wait for it. */
export function shareByOrganization<Item, Result>(
  organizationOf: (item: Item) => string,
  open: () => SharedStatement<Item, Result>,
): SharedStatement<Item, Result> {
  const opened = new Map<string, SharedStatement<Item, Result>>();
  return (item) => {
    const organizationId = organizationOf(item);
    const shared = opened.get(organizationId) ?? open();
    opened.set(organizationId, shared);
    return shared(item);
  };
}

/**
 * A shared statement of reads by key: concurrent requests for a key share one read. A read that is already running is not shared,
 * because its result may be too old.
 * @param read gets distinct keys and returns what exists, by key.
 */
export function shareRead<Result>(
  read: (keys: readonly string[]) => Promise<ReadonlyMap<string, Result>>,
): SharedStatement<string, Result | undefined> {
  return shareStatement(
    async (keys) => {
      const found = await read([...new Set(keys)]);
      return keys.map((key) => found.get(key));
    },
    { lanes: 2 },
  );
}

/** The same for reads of one statement each: equal reads in one turn of the event loop share it, others run side by side. */
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
