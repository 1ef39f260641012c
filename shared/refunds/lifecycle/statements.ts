import { setTimeout as sleep } from 'node:timers/promises';
import type { Database } from '../../platform/database.ts';
import { ServiceError } from '../../platform/errors.ts';
import { type SharedStatement, shareStatement } from '../../platform/shared-statement.ts';
import type { RowJson } from '../model/rows.ts';

/** A SQL function's result for one item. The function's file in prisma/functions describes the outcomes. */
export interface Answer {
  outcome: string;
  refund?: RowJson | null;
  payment?: RowJson | null;
  to_resync?: string[];
}

/** A claimed refund, as `claim_refunds` returns it. */
export interface ClaimRow {
  step: string;
  now: string;
  refund: RowJson;
  work: RowJson;
  account: RowJson;
}

/**
 * The statements that change refunds, one SQL function each. Concurrent requests of a process share a call. Items have the
 * columns that the function's file in prisma/functions names.
 */
export interface RefundStatements {
  create: SharedStatement<object, Answer>;
  claim: SharedStatement<{ refund_id: string }, ClaimRow | null>;
  record: SharedStatement<object, Answer>;
  cancel: (asked: object) => Promise<Answer>;
  receive: SharedStatement<object, Answer>;
}

/** @param leaseMs the length of a lease. */
export function openRefundStatements(db: Database, leaseMs: number): RefundStatements {
  return {
    create: untilUnlocked(
      shareStatement(async (items) => {
        const rows = await db.$queryRaw<ItemAnswer[]>`SELECT * FROM create_refunds(${asJson(items)}::jsonb)`;
        return inOrder(rows, items.length);
      }),
    ),
    claim: shareStatement(async (items) => {
      const rows = await db.$queryRaw<{ refund_id: string; claim: ClaimRow }[]>`
        SELECT * FROM claim_refunds(${asJson(items)}::jsonb, ${leaseMs}::int)`;
      const claims = new Map(rows.map(({ refund_id, claim }) => [refund_id, claim]));
      return items.map(({ refund_id }) => {
        const claim = claims.get(refund_id) ?? null;
        // Only one of two concurrent jobs gets the claim.
        claims.delete(refund_id);
        return claim;
      });
    }),
    record: untilUnlocked(
      shareStatement(async (items) => {
        const rows = await db.$queryRaw<ItemAnswer[]>`SELECT * FROM record_refunds(${asJson(items)}::jsonb)`;
        return inOrder(rows, items.length);
      }),
    ),
    cancel: untilUnlocked(async (asked) => {
      const [answer] = await db.$queryRaw<Answer[]>`SELECT * FROM cancel_refund(${asJson(asked)}::jsonb)`;
      if (answer === undefined) throw new Error('cancel_refund returned no row');
      return answer;
    }),
    receive: untilUnlocked(
      shareStatement(async (items) => {
        const rows = await db.$queryRaw<ItemAnswer[]>`
          SELECT * FROM receive_processor_events(${asJson(items)}::jsonb)`;
        return inOrder(rows, items.length);
      }),
    ),
  };
}

type ItemAnswer = Answer & { item: number };

function asJson(items: unknown): string {
  return JSON.stringify(items, (_name, value: unknown) =>
    typeof value === 'bigint' ? Number(value) : value,
  );
}

function inOrder(rows: readonly ItemAnswer[], count: number): Answer[] {
  const answers: (Answer | undefined)[] = Array.from({ length: count });
  for (const row of rows) answers[row.item] = row;
  return answers.map((answer) => {
    if (answer === undefined) throw new Error('A SQL function left out an item.');
    return answer;
  });
}

/** How long a locked item is retried. */
const lockWaitMs = 5_000;

/**
 * Repeats an item while another session holds a lock that it needs. The statement itself does not wait for locks, so that it
 * delays neither the other items nor the connection.
 * @throws ServiceError service_unavailable when it stays locked; nothing was changed.
 */
function untilUnlocked<Item>(ask: (item: Item) => Promise<Answer>): (item: Item) => Promise<Answer> {
  return async (item) => {
    const since = performance.now();
    for (let pauseMs = 2; ; pauseMs = Math.min(50, pauseMs * 2)) {
      const answer = await ask(item);
      if (answer.outcome !== 'locked') return answer;
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
