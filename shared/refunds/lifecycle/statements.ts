import { setTimeout as sleep } from 'node:timers/promises';
import {
  type SharedStatement,
  shareByOrganization,
  shareStatement,
} from '../../platform/concurrency/shared-statement.ts';
import type { ServiceSettings } from '../../platform/config.ts';
import type { Database, Refund, RefundWork } from '../../platform/database.ts';
import { ServiceError } from '../../platform/errors.ts';
import type { Metrics } from '../../platform/telemetry/metrics.ts';
import type { AccountName } from '../../processors/accounts/account.ts';
import { leaseMs } from '../model/attempts.ts';
import { accountFrom, paymentFrom, type RowJson, refundFrom, toItems, workFrom } from '../model/rows.ts';
import type { CancellationItem, CancellationResult } from './cancel.ts';
import type { CreationItem, CreationResult } from './create.ts';
import type { PositionMarks } from './position-marks.ts';
import type { ReceivedItem, ReceivedResult } from './processor-events.ts';
import type { RecordItem, RecordResult } from './record.ts';

/**
 * What a worker does next for a refund; prisma/functions/refunds/next_refund_step.sql decides it.
 * - `verify`: the payment is not known yet, or in another currency: read it.
 * - `send`: not at the processor: submit the refund.
 * - `look_up`: may be at the processor: look it up first.
 * - `settle`: at the processor: read whether it has settled.
 * - `cancel_at_processor`: at the processor, cancellation requested.
 * - `cancel`: not at the processor, cancellation requested.
 * - `review`: ended here: read whether the processor agrees.
 */
export type RefundStep =
  | 'verify'
  | 'send'
  | 'look_up'
  | 'settle'
  | 'cancel_at_processor'
  | 'cancel'
  | 'review';

/** A refund under a worker's lease, and everything that its next step needs. */
export interface Claim {
  step: RefundStep;
  /** When it was claimed, in the database's time. */
  now: Date;
  /** `performance.now()` before it was claimed; its lease ends no earlier than after its length from then on. */
  since: number;
  refund: Refund;
  /** The payment's own id at its processor; null until it was read. */
  externalPaymentId: string | null;
  /** Under the new lease; for the step `send`, with the attempt that is about to be made. */
  work: RefundWork;
  account: AccountName;
  /** What may follow after a server error, as prisma/functions/refunds/after_server_error.sql says; null without one. */
  afterServerError: 'same_key' | 'wait' | 'person' | null;
}

/** Due refunds of a processor that a worker can take. */
export interface DueClaims {
  claims: Claim[];
  /** True when there may be more of them: as many were looked at as were asked for. */
  isMore: boolean;
  /** True when more is due that could not be taken now, such as that of an account that has all its places, or of an operation that has all its calls. */
  isWaiting: boolean;
}

/**
 * The statements that change refunds, one SQL function each. Concurrent requests of a process share a call. The functions' files
 * in prisma/functions describe the items, with the names of columns, and the results.
 */
export interface RefundStatements {
  create: SharedStatement<CreationItem, CreationResult>;
  /**
   * Claims a refund, by its id, for one call to its processor. A claim to send has counted the attempt before it returns. Null when
   * the refund is not due, another worker has it under lease, or the limit of its operation allows no call now.
   */
  claim: SharedStatement<string, Claim | null>;
  /**
   * Claims due refunds of a processor, up to a number: the longest due ones of each account, whose accounts take turns. Over all
   * workers, an account has no more of them under lease than PROCESSOR_ACCOUNT_CONCURRENCY, and each of its operations gets no more calls
   * per second than PROCESSOR_ACCOUNT_CALLS_PER_SECOND, or the account's own number.
   */
  claimDue: (processor: string, most: number) => Promise<DueClaims>;
  record: SharedStatement<RecordItem, { outcome: RecordResult }>;
  cancel: (asked: CancellationItem) => Promise<CancellationResult>;
  receive: SharedStatement<ReceivedItem, ReceivedResult>;
}

/** Opens the statements of a process. Nothing is claimed from a database that is behind `positionMarks`. */
export function openRefundStatements(
  db: Database,
  {
    settings,
    metrics: { statementItems },
    positionMarks,
  }: { settings: ServiceSettings; positionMarks: PositionMarks; metrics: Pick<Metrics, 'statementItems'> },
): RefundStatements {
  const claimLeaseMs = leaseMs(settings);
  const { PROCESSOR_ACCOUNT_CALLS_PER_SECOND: each } = settings;
  const perSecond = { live: each, test: each };
  /** By processor: the account that was looked at last. */
  const lastAccounts = new Map<string, string | null>();
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
  const openCreation = () =>
    perItem<CreationItem, CreationResult>(
      'create_refunds',
      (items) => db.$queryRaw`SELECT * FROM create_refunds(${items}::jsonb)`,
    );
  const create = openCreation();
  const createCounting = shareByOrganization(({ organizationId }) => organizationId, openCreation);
  return {
    create: (item) => (countsDay(item) ? createCounting(item) : create(item)),
    claim: shareStatement(async (refundIds) => {
      count('claim_refunds', refundIds.length);
      const since = performance.now();
      const rows = await db.$queryRaw<{ refund_id: string; claim: ClaimRow }[]>`
        SELECT * FROM claim_refunds(${toItems(refundIds.map((refundId) => ({ refundId, perSecond })))}::jsonb, ${claimLeaseMs}::int,
          ${reached()}::jsonb)`;
      return claimsOf(refundIds, new Map(rows.map((row) => [row.refund_id, claimFrom(row.claim, since)])));
    }),
    claimDue: async (processor, most) => {
      const since = performance.now();
      const [found] = await db.$queryRaw<DueRow[]>`
        SELECT claims AS rows, last_account AS "lastAccount", is_waiting AS "isWaiting"
        FROM claim_due_refunds(${processor}, ${most}::int, ${claimLeaseMs}::int, ${reached()}::jsonb,
          ${settings.PROCESSOR_ACCOUNT_CONCURRENCY}::int, ${toItems(perSecond)}::jsonb, ${lastAccounts.get(processor) ?? null}::text)`;
      if (found === undefined) return { claims: [], isMore: false, isWaiting: false };
      const { rows, lastAccount, isWaiting } = found;
      lastAccounts.set(processor, lastAccount);
      if (rows.length > 0) count('claim_due_refunds', rows.length);
      const claims = rows.flatMap((row) => (row === null ? [] : [claimFrom(row, since)]));
      return { claims, isMore: rows.length === most, isWaiting };
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

/** Whether refunds of a day are counted again. */
function countsDay({ bounds }: CreationItem): boolean {
  return (bounds?.organization ?? bounds?.requester ?? bounds?.apiKey) !== undefined;
}

/** A claimed refund, as `claim_refunds` returns it. */
type ClaimRow = Pick<Claim, 'step' | 'afterServerError'> & { now: string; payment: string | null } & Record<
    'refund' | 'work' | 'account',
    RowJson
  >;

interface DueRow {
  /** Null for each one that was postponed, because its operation is paused. */
  rows: (ClaimRow | null)[];
  lastAccount: string | null;
  isWaiting: boolean;
}

/** Of two concurrent callers that claim the same refund, only one gets the claim. */
function claimsOf(refundIds: readonly string[], claims: Map<string, Claim>): (Claim | null)[] {
  return refundIds.map((refundId) => {
    const claim = claims.get(refundId) ?? null;
    claims.delete(refundId);
    return claim;
  });
}

function claimFrom({ now, refund, payment, work, account, ...decided }: ClaimRow, since: number): Claim {
  return {
    ...{ ...decided, now: new Date(now), since, externalPaymentId: payment },
    ...{ refund: refundFrom(refund), work: workFrom(work), account: accountFrom(account) },
  };
}

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

/** Another session has locked what the item needs; nothing was done. */
interface Locked {
  outcome: 'locked';
}

function isLocked(result: { outcome: string }): result is Locked {
  return result.outcome === 'locked';
}

/** How long a locked item is retried. */
const lockWaitMs = 5_000;

/**
 * Repeats an item while another session has a lock that it needs. The statement itself does not wait for locks, so that it
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
          { retryAfterSeconds: 2 },
        );
      }
      await sleep(pauseMs * (0.5 + Math.random()));
    }
  };
}
