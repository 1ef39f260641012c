import { setTimeout as sleep } from 'node:timers/promises';
import type { Dependencies } from '../../dependencies.ts';
import type { Metrics } from '../../metrics/metrics.ts';
import type { Database } from '../../platform/database.ts';
import { ServiceError } from '../../platform/errors.ts';
import { type SharedStatement, shareStatement } from '../../platform/shared-statement.ts';
import { leaseMs } from '../model/lookup-proof.ts';
import { paymentFrom, type RowJson, refundFrom, toItems } from '../model/rows.ts';
import type { CancelItem, CancelResult } from './cancel.ts';
import type { CreationItem, CreationResult } from './create.ts';
import type { ReceivedItem, ReceivedResult } from './processor-events.ts';
import type { RecordItem, RecordResult } from './record.ts';

/** A claimed refund, as `claim_refunds` returns it. */
export interface ClaimRow {
  step: string;
  now: string;
  refund: RowJson;
  work: RowJson;
  account: RowJson;
}

/** What `claim_due_refunds` looked at. */
export interface DueRows {
  /** Null where the account is throttled. */
  rows: (ClaimRow | null)[];
  /** More is due, whose accounts have all their places or calls, or whose turn it was not. */
  isWaiting: boolean;
}

/**
 * The statements that change refunds, one SQL function each. Concurrent requests of a process share a call. The functions' files
 * in prisma/functions describe the items, with the names of columns, and the results.
 */
export interface RefundStatements {
  create: SharedStatement<CreationItem, CreationResult>;
  claim: SharedStatement<{ refundId: string }, ClaimRow | null>;
  claimDue: (processor: string, most: number) => Promise<DueRows>;
  record: SharedStatement<RecordItem, { outcome: RecordResult }>;
  cancel: (asked: CancelItem) => Promise<CancelResult>;
  receive: SharedStatement<ReceivedItem, ReceivedResult>;
}

/** Opens the statements of a process. Nothing is claimed from a database that is behind `positionMarks`. */
export function openRefundStatements(
  db: Database,
  {
    settings,
    metrics: { statementItems },
    positionMarks,
  }: Pick<Dependencies, 'settings' | 'positionMarks'> & { metrics: Pick<Metrics, 'statementItems'> },
): RefundStatements {
  const claimLeaseMs = leaseMs(settings);
  const callsPerSecond = {
    live: settings.PROCESSOR_ACCOUNT_CALLS_PER_SECOND,
    test: settings.PROCESSOR_ACCOUNT_TEST_CALLS_PER_SECOND,
  };
  /** By processor: the account that was looked at last. */
  const lastAccounts = new Map<string, string[]>();
  const reached = () => toItems(positionMarks.reached);
  const count = (statement: string, items: number) => statementItems.observe({ statement }, items);
  const perItem = <Item, Result extends { outcome: string }>(
    statement: string,
    call: (items: string) => Promise<ItemRow[]>,
  ) =>
    untilUnlocked<Item, Result>(
      shareStatement(async (items) => {
        count(statement, items.length);
        return inOrder(items.length, await call(toItems(items)));
      }),
    );
  return {
    create: perItem('create_refunds', (items) => db.$queryRaw`SELECT * FROM create_refunds(${items}::jsonb)`),
    claim: shareStatement(async (items) => {
      count('claim_refunds', items.length);
      const rows = await db.$queryRaw<{ refund_id: string; claim: ClaimRow }[]>`
        SELECT * FROM claim_refunds(${toItems(items)}::jsonb, ${claimLeaseMs}::int, ${reached()}::jsonb)`;
      const claims = new Map(rows.map(({ refund_id, claim }) => [refund_id, claim]));
      return items.map(({ refundId }) => {
        const claim = claims.get(refundId) ?? null;
        // Only one of two concurrent callers gets the claim.
        claims.delete(refundId);
        return claim;
      });
    }),
    claimDue: async (processor, most) => {
      const [found] = await db.$queryRaw<DueRowsJson[]>`
        SELECT claims AS rows, last_account AS "lastAccount", is_waiting AS "isWaiting"
        FROM claim_due_refunds(${processor}, ${most}::int, ${claimLeaseMs}::int, ${reached()}::jsonb,
          ${settings.PROCESSOR_ACCOUNT_CONCURRENCY}::int, ${toItems(callsPerSecond)}::jsonb, ${lastAccounts.get(processor) ?? []}::text[])`;
      if (found === undefined) return { rows: [], isWaiting: false };
      lastAccounts.set(processor, found.lastAccount);
      if (found.rows.length > 0) count('claim_due_refunds', found.rows.length);
      return found;
    },
    record: perItem('record_refunds', (items) => db.$queryRaw`SELECT * FROM record_refunds(${items}::jsonb)`),
    cancel: untilUnlocked(async (asked) => {
      const [row] = await db.$queryRaw<ResultRow[]>`SELECT * FROM cancel_refund(${toItems(asked)}::jsonb)`;
      return resultFrom(row);
    }),
    receive: perItem(
      'receive_processor_events',
      (items) => db.$queryRaw`SELECT * FROM receive_processor_events(${items}::jsonb)`,
    ),
  };
}

type DueRowsJson = DueRows & { lastAccount: string[] };

/** What a SQL function returns for an item; which columns it has depends on the outcome. */
interface ResultRow {
  outcome: string;
  refund?: RowJson | null;
  payment?: RowJson | null;
}

type ItemRow = ResultRow & { item: number };

function inOrder<Result extends { outcome: string }>(
  count: number,
  rows: readonly ItemRow[],
): (Result | Locked)[] {
  const found: ItemRow[] = [];
  for (const row of rows) found[row.item] = row;
  return Array.from({ length: count }, (_, item) => resultFrom(found[item]));
}

function resultFrom<Result extends { outcome: string }>(row: ResultRow | undefined): Result | Locked {
  if (row === undefined) throw new Error('A SQL function left out an item.');
  const { refund, payment } = row;
  const parsed = { refund: refund && refundFrom(refund), payment: payment && paymentFrom(payment) };
  return { ...row, ...parsed } as object as Result | Locked;
}

/** Another session holds what the item needs; nothing was done. */
interface Locked {
  outcome: 'locked';
}

function isLocked(result: { outcome: string }): result is Locked {
  return result.outcome === 'locked';
}

/** How long a locked item is retried. */
const lockWaitMs = 5_000;

/**
 * Repeats an item while another session holds a lock that it needs. The statement itself does not wait for locks, so that it
 * delays neither the other items nor the connection.
 * @throws ServiceError service_unavailable when it stays locked; nothing was changed.
 */
function untilUnlocked<Item, Result extends { outcome: string }>(
  ask: (item: Item) => Promise<Result | Locked>,
): (item: Item) => Promise<Result> {
  return async (item) => {
    const since = performance.now();
    for (let pauseMs = 2; ; pauseMs = Math.min(50, pauseMs * 2)) {
      const result = await ask(item);
      if (!isLocked(result)) return result;
      if (performance.now() - since > lockWaitMs) {
        throw new ServiceError(
          'service_unavailable',
          'Another request is changing the same payment or refund. Retry in a few seconds.',
          {
            retryAfterSeconds: 2,
          },
        );
      }
      await sleep(pauseMs * (0.5 + Math.random()));
    }
  };
}
