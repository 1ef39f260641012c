import type { Dependencies } from '#shared/dependencies.ts';
import type { Settings } from '#shared/platform/config.ts';
import type { Database, DatabaseTransaction, Prisma, Reads } from '#shared/platform/database.ts';
import type { RefundQueues } from '#shared/platform/queues.ts';
import { openVelocityReads } from '#shared/policies/policy-facts.ts';
import { ProcessorConnections } from '#shared/processors/accounts/connections.ts';
import type { Processor } from '#shared/processors/contract/processor.ts';
import { openLookups } from '#shared/refunds/lifecycle/lookups.ts';
import { openRefundStatements } from '#shared/refunds/lifecycle/statements.ts';
import { aroundCalls, type ProcessorCall } from '../../support/processors/around-calls.ts';
import { replacing } from '../../support/replacing.ts';
import type { KillableProcess } from './killable-process.ts';
import { isWriteStatement, nameOfWrite, type Write } from './names-of-writes.ts';

/** The changes of a planted bug. */
export interface Tampering {
  settings?: Pick<Settings, 'LOOKUP_SETTLE_DELAY_MS'>;
  /** Changes SQL functions of the core, by name. */
  sql?: Readonly<Record<string, (text: string) => string>>;
  processor?(processor: Processor): Processor;
}

/** Whether a worker is to be woken. */
export interface WakeUp {
  isSent: boolean;
}

/**
 * The dependencies of a process that can be killed: the same database, processors and clocks, with a named point before
 * and after each effect. Reads of the database have no points, because a crash at a read equals one after the last write.
 */
export function killable(
  deps: Dependencies,
  process: KillableProcess,
  wakeUp: WakeUp,
  tampering: Tampering = {},
): Dependencies {
  const tamper = tampering.processor ?? ((processor: Processor) => processor);
  const settings = { ...deps.settings, ...tampering.settings };
  const db = killableDatabase(deps.db, process);
  const reads = replacing<Reads>(deps.reads, {
    query: async (...query: Parameters<Reads['query']>) => {
      await process.pass();
      return await deps.reads.query(...query);
    },
  });
  const { secrets, clock, log } = deps;
  const connections = new ProcessorConnections({ db, clock, log, secrets, settings });
  return {
    ...deps,
    settings,
    db,
    reads,
    lookups: openLookups(reads),
    velocities: openVelocityReads(db),
    statements: openRefundStatements(db, { ...deps, settings }),
    queues: killableQueues(deps.queues, process, wakeUp),
    connections: replacing<ProcessorConnections>(connections, {
      connect: async (account: Parameters<ProcessorConnections['connect']>[0]) =>
        killableProcessor(tamper(await connections.connect(account)), process),
    }),
  };
}

function killableDatabase(db: Database, process: KillableProcess): Database {
  /** A write outside of a transaction commits at once. */
  const committing = async <T>(write: Write, work: () => Promise<T>): Promise<T> => {
    const name = nameOfWrite(write);
    await process.reach(`before ${name}`);
    const result = await work();
    const done = doneBy(name, result);
    if (done === null) return result;
    if (needsLease(write)) process.noteWrite(done);
    // The statement was carried out, and the connection broke before its answer.
    if (write.kind === 'statement' && isOfCore(write.sql)) await process.reach(`answer lost of ${done}`);
    await process.reach(`after ${done}`);
    process.noteClaim(tokenIn(result));
    return result;
  };
  return replacing<Database>(aroundWrites(db, process, committing), {
    $transaction: (work: (tx: DatabaseTransaction) => Promise<unknown>) => runTransaction(db, process, work),
  });
}

async function runTransaction<T>(
  db: Database,
  process: KillableProcess,
  work: (tx: DatabaseTransaction) => Promise<T>,
): Promise<T> {
  await process.pass();
  const changes: string[] = [];
  const noting = async <R>(write: Write, perform: () => Promise<R>): Promise<R> => {
    await process.pass();
    const result = await perform();
    const done = doneBy(nameOfWrite(write), result);
    if (done !== null) changes.push(done);
    return result;
  };
  const commit = () => changes.findLast((change) => change.includes('.')) ?? changes.at(-1);
  try {
    const result = await aroundWrites(db, process, noting).$transaction(async (tx) => {
      const value = await work(tx);
      if (commit() !== undefined) await process.reach(`before commit of ${commit()}`, true);
      return value;
    });
    if (commit() !== undefined) await process.reach(`after commit of ${commit()}`);
    return result;
  } catch (error) {
    await process.pass();
    throw error;
  }
}

/** The effect of a write; null when its guard failed or it must be repeated. */
function doneBy(name: string, result: unknown): string | null {
  if (isEmpty(result)) return null;
  const [row] = Array.isArray(result) ? result : [];
  const { outcome, claim } = (row ?? {}) as { outcome?: string; claim?: { step: string } };
  if (claim !== undefined) return `claim to ${claim.step}`;
  if (outcome === undefined || ['created', 'recorded', 'due'].includes(outcome)) return name;
  return name === 'cancellation' && ['cancelled', 'requested'].includes(outcome) ? name : null;
}

/** The fencing token of a claim. */
function tokenIn(result: unknown): number | null {
  const [row] = Array.isArray(result) ? result : [];
  return (row as { claim?: { work: { lease_token: number } } } | undefined)?.claim?.work.lease_token ?? null;
}

function isOfCore({ text }: Prisma.Sql): boolean {
  return /\b(create_refunds|claim_refunds|record_refunds|cancel_refund)\(/.test(text);
}

/** True for a write that only the holder of a refund's lease may make. */
function needsLease(write: Write): boolean {
  return write.kind === 'statement' && /record_refunds\(|SET leased_until = /.test(write.sql.text);
}

type Perform = <T>(write: Write, work: () => Promise<T>) => Promise<T>;

/** The same database with `perform` around each write. */
function aroundWrites(db: Database, process: KillableProcess, perform: Perform): Database {
  const extended = db.$extends({
    query: {
      async $allOperations({ model, operation: method, args, query }) {
        const work = () => query(args);
        if (model === undefined && isWriteStatement(args)) {
          return await perform({ kind: 'statement', sql: args }, work);
        }
        if (model !== undefined && !readMethods.test(method)) {
          return await perform({ kind: 'model', model, method, data: args.data ?? {} }, work);
        }
        await process.pass();
        return await work();
      },
    },
  });
  return extended as unknown as Database;
}

const readMethods = /^(find|count|aggregate|groupBy)/;

function isEmpty(result: unknown): boolean {
  if (typeof result === 'object' && result !== null && 'count' in result) return result.count === 0;
  return result === 0 || (Array.isArray(result) && result.length === 0);
}

/** Calls that change the processor's state; a process may also be killed during one. */
const writes: readonly ProcessorCall[] = ['createRefund', 'cancelRefund'];

function killableProcessor(processor: Processor, process: KillableProcess): Processor {
  return aroundCalls(processor, async (name, call) => {
    await process.reach(`before ${name}`);
    const answer = onTheWire(process, call);
    if (writes.includes(name)) await process.reach(`during ${name}`);
    const value = await answer;
    await process.reach(`after ${name}`);
    return value;
  });
}

/** A call continues when its process is killed. */
function onTheWire<T>(process: KillableProcess, work: () => Promise<T>): Promise<T> {
  const call = work();
  process.calls.add(call);
  call.then(
    () => process.calls.delete(call),
    () => process.calls.delete(call),
  );
  return call;
}

function killableQueues(queues: RefundQueues, process: KillableProcess, wakeUp: WakeUp): RefundQueues {
  return replacing<RefundQueues>(queues, {
    wake: () => {
      process.reachAtOnce('before wake-up');
      wakeUp.isSent = true;
      process.reachAtOnce('after wake-up');
    },
  });
}
