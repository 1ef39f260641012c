import type { ProcessorConnections } from '../../shared/accounts/connect.ts';
import type { Settings } from '../../shared/config.ts';
import { type Database, type DatabaseTransaction, Prisma, type Refund } from '../../shared/db.ts';
import type { Dependencies } from '../../shared/dependencies.ts';
import type { Processor } from '../../shared/processors/processor.ts';
import type { RefundQueues } from '../../shared/queues.ts';
import type { KillableProcess } from './killable-process.ts';
import { isWriteStatement, nameOfWrite, requestOfReview, type Write } from './names-of-writes.ts';
import { replacing } from './replacing.ts';

/** What changes something or asks something at a processor, over the wire. */
export type ProcessorCall = 'getTransaction' | 'createRefund' | 'findRefund' | 'getRefund' | 'cancelRefund';

/** What changes on the way out of a process; the planted bugs of the matrix are made of these. */
export interface Tampering {
  settings?: Pick<Settings, 'LOOKUP_SETTLE_DELAY_MS'>;
  statement?(sql: Prisma.Sql): Prisma.Sql | null;
  processor?(processor: Processor): Processor;
}

/** Refunds that a queue has told of, by id; jobs carry nothing else. */
export type WakeUps = Set<string>;

/**
 * The dependencies of a process that can be killed: the same database, processors and clocks, with a named point before
 * and after everything that can be seen from outside. Reads have no points of their own, because a crash at a read is
 * one after the write before it.
 */
export function killable(
  deps: Dependencies,
  process: KillableProcess,
  wakeUps: WakeUps,
  tampering: Tampering = {},
): Dependencies {
  const tamper = tampering.processor ?? ((processor: Processor) => processor);
  return {
    ...deps,
    settings: { ...deps.settings, ...tampering.settings },
    db: killableDatabase(deps.db, process, tampering.statement ?? ((sql) => sql)),
    queues: killableQueues(deps.queues, process, wakeUps),
    connections: replacing<ProcessorConnections>(deps.connections, {
      connect: (account: Parameters<ProcessorConnections['connect']>[0]) =>
        killableProcessor(tamper(deps.connections.connect(account)), process),
    }),
  };
}

/** All of them: a write on one that has no name in the matrix is an error, and passes nowhere unseen. */
const models = Object.values(Prisma.ModelName).map(
  (name) => `${name.charAt(0).toLowerCase()}${name.slice(1)}` as Uncapitalize<typeof name>,
);
const readMethods = /^(find|count|aggregate|groupBy)/;

type Tamper = (sql: Prisma.Sql) => Prisma.Sql | null;

function killableDatabase(db: Database, process: KillableProcess, tamper: Tamper): Database {
  /** A write outside of a transaction is committed by itself. */
  const committing = async <T>(write: Write, work: () => Promise<T>): Promise<T> => {
    await process.pass();
    const name = nameOf(write, process);
    await process.reach(`before ${name}`);
    const result = await work();
    if (needsLease(write, name) && !isEmpty(result)) process.noteWrite(name);
    await process.reach(`after ${name}`);
    return result;
  };
  const client = killableClient(db, process, committing, tamper);
  return replacing<Database>(db, {
    ...client,
    $transaction: (work: (tx: DatabaseTransaction) => Promise<unknown>) =>
      runTransaction(db, process, work, tamper),
  });
}

async function runTransaction<T>(
  db: Database,
  process: KillableProcess,
  work: (tx: DatabaseTransaction) => Promise<T>,
  tamper: Tamper,
): Promise<T> {
  await process.pass();
  const events: string[] = [];
  const changes: string[] = [];
  const noting = async <R>(write: Write, perform: () => Promise<R>): Promise<R> => {
    await process.pass();
    const result = await perform();
    const name = nameOfWrite(write, process.lastRead);
    if ('event' in name) events.push(name.event);
    // A guarded write that matched nothing has changed nothing.
    else if (!isEmpty(result)) changes.push(name.change);
    return result;
  };
  const commit = () => (events.length > 0 ? events.join(' and ') : changes.at(-1));
  try {
    const result = await db.$transaction(async (tx) => {
      const value = await work(replacing(tx, killableClient(tx, process, noting, tamper)));
      if (commit() !== undefined) await process.reach(`before commit of ${commit()}`, true);
      return value;
    });
    if (events.length > 0) process.noteWrite(events.join(' and '));
    if (commit() !== undefined) await process.reach(`after commit of ${commit()}`);
    return result;
  } catch (error) {
    await process.pass();
    throw error;
  }
}

type Perform = <T>(write: Write, work: () => Promise<T>) => Promise<T>;

function killableClient(
  client: DatabaseTransaction,
  process: KillableProcess,
  perform: Perform,
  tamper: Tamper,
): Record<string, unknown> {
  const raw =
    <T>(send: (sql: Prisma.Sql) => Promise<T>, nothing: T) =>
    async (strings: TemplateStringsArray, ...values: unknown[]): Promise<T> => {
      const sql = Prisma.sql(strings, ...(values as Prisma.Sql[]));
      const changed = tamper(sql);
      const work = async () => (changed === null ? nothing : await send(changed));
      if (isWriteStatement(sql)) return await perform({ kind: 'statement', sql }, work);
      await process.pass();
      return await work();
    };
  return {
    $executeRaw: raw<number>((sql) => client.$executeRaw(sql), 1),
    $queryRaw: raw<unknown>((sql) => client.$queryRaw(sql), []),
    ...Object.fromEntries(
      models.map((model) => [model, killableModel(client[model], model, process, perform)]),
    ),
  };
}

interface Query {
  data?: Record<string, unknown>;
  where?: Record<string, unknown>;
}

function killableModel(target: object, model: string, process: KillableProcess, perform: Perform): object {
  return new Proxy(target, {
    get(original, name) {
      const method = String(name);
      const send = (query: Query): Promise<unknown> =>
        (Reflect.get(original, name) as (query: Query) => Promise<unknown>).call(original, query);
      return async (query: Query) => {
        if (!readMethods.test(method)) {
          const { data = {}, where = {} } = query;
          return await perform({ kind: 'model', model, method, data, where }, () => send(query));
        }
        await process.pass();
        const found = await send(query);
        if (model === 'refund' && isRefund(found)) process.lastRead = found;
        return found;
      };
    },
  });
}

function isRefund(found: unknown): found is Refund {
  return typeof found === 'object' && found !== null && 'fencingToken' in found;
}

function isEmpty(result: unknown): boolean {
  if (typeof result === 'object' && result !== null && 'count' in result) return result.count === 0;
  return result === 0 || (Array.isArray(result) && result.length === 0);
}

/** True for a write that only the holder of a refund's lease may make. */
function needsLease(write: Write, name: string): boolean {
  if (name === requestOfReview) return false;
  if (write.kind === 'model') return write.model === 'refund';
  return /fencing_token/.test(write.sql.text);
}

function nameOf(write: Write, process: KillableProcess): string {
  const name = nameOfWrite(write, process.lastRead);
  return 'event' in name ? name.event : name.change;
}

function killableProcessor(processor: Processor, process: KillableProcess): Processor {
  const read = async <T>(name: string, work: () => Promise<T>): Promise<T> => {
    await process.reach(`before ${name}`);
    const answer = await onTheWire(process, work);
    await process.reach(`after ${name}`);
    return answer;
  };
  const write = async <T>(name: string, work: () => Promise<T>): Promise<T> => {
    await process.reach(`before ${name}`);
    const answer = onTheWire(process, work);
    await process.reach(`during ${name}`);
    const value = await answer;
    await process.reach(`after ${name}`);
    return value;
  };
  const calls: Pick<Processor, ProcessorCall> = {
    getTransaction: (...args) => read('getTransaction', () => processor.getTransaction(...args)),
    findRefund: (...args) => read('findRefund', () => processor.findRefund(...args)),
    getRefund: (...args) => read('getRefund', () => processor.getRefund(...args)),
    createRefund: (...args) => write('createRefund', () => processor.createRefund(...args)),
    cancelRefund: (...args) => write('cancelRefund', () => processor.cancelRefund(...args)),
  };
  return replacing(processor, calls);
}

/** A call that has left goes on whatever becomes of its process. */
function onTheWire<T>(process: KillableProcess, work: () => Promise<T>): Promise<T> {
  const call = work();
  process.calls.add(call);
  call.then(
    () => process.calls.delete(call),
    () => process.calls.delete(call),
  );
  return call;
}

function killableQueues(queues: RefundQueues, process: KillableProcess, wakeUps: WakeUps): RefundQueues {
  return replacing<RefundQueues>(queues, {
    wake: ({ id }: { id: string }) => {
      process.reachAtOnce('before wake');
      wakeUps.add(id);
      process.reachAtOnce('after wake');
    },
    wakeAll: async (_processor: string, ids: readonly string[]) => {
      await process.reach('before wakeAll');
      for (const id of ids) wakeUps.add(id);
      await process.reach('after wakeAll');
    },
  });
}
