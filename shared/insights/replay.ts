import { setImmediate } from 'node:timers/promises';
import type { FairLimit } from '../platform/concurrency/fair-limit.ts';
import type { Stores } from '../platform/database.ts';
import { countsRequester } from '../policies/evaluate.ts';
import { evaluateRefund } from '../policies/evaluate-refund.ts';
import type { Policy, PolicyVerdict } from '../policies/policy.ts';
import type { RefundOwner } from '../refunds/model/refund.ts';
import { type PastRefund, readEarlierRefunds, readPastRefunds, startOfNewest } from './past-refunds.ts';
import { PastTotals } from './past-totals.ts';

/** How far back a replay goes. */
export const replayedDays = 90;

/** The most refunds that a replay evaluates; the newest. */
export const maxReplayed = 10_000;

/** The most refunds that a replay names. */
const maxNamed = 100;

export const policyOutcomes = ['allowed', 'not_blocked', 'approval_required', 'blocked'] as const;

/** What policies come to for a refund. `not_blocked`: they deny it, and it is created all the same. */
export type PolicyOutcome = (typeof policyOutcomes)[number];

/** Enforcement matters only for a denial, and approval only for a refund that is not blocked. */
function outcomeOf({ eligible, enforced, approvalRequired }: PolicyVerdict): PolicyOutcome {
  if (!eligible && enforced) return 'blocked';
  if (approvalRequired) return 'approval_required';
  return eligible ? 'allowed' : 'not_blocked';
}

/** A refund that the proposed policies block or decide differently. */
interface ReplayedRefund {
  refund: Pick<PastRefund, 'id' | 'transactionId' | 'amount' | 'currency' | 'status' | 'createdAt'>;
  /** By the policies of today. */
  current: PolicyOutcome;
  proposed: PolicyOutcome;
  /** Of the proposed policies, in words, and the name of the one that decides; null when none matches. */
  reason: string;
  policyName: string | null;
}

/** What two sets of policies come to for the refunds of the past. */
export interface Replay {
  /** The refunds that were created from here (inclusive) to here (exclusive). */
  from: Date;
  to: Date;
  /** How many were evaluated. */
  refundCount: number;
  /** How many were left out, because their payment is not known. */
  skippedCount: number;
  /** True when older refunds of the time were left out, because there are more than a replay evaluates. */
  isCutOff: boolean;
  /** How many refunds come to each outcome. */
  current: Record<PolicyOutcome, number>;
  proposed: Record<PolicyOutcome, number>;
  /** How many refunds come to another outcome than by the policies of today. */
  changedCount: number;
  /** Those that change, then others that are blocked, each the newest first; some of them when there are many. */
  affected: ReplayedRefund[];
  /** What a replay cannot know, in sentences. */
  unknown: string[];
}

interface Sets {
  /** The stored policies. */
  current: readonly Policy[];
  proposed: readonly Policy[];
}

/**
 * Evaluates two sets of policies for the refunds of an environment, each as it was when it was created.
 * @throws ServiceError service_unavailable when earlier replays of the organization take too long.
 */
export async function replayPolicies(
  deps: Stores & { replays: FairLimit },
  owner: RefundOwner,
  sets: Sets,
  limit = maxReplayed,
): Promise<Replay> {
  return await deps.replays(owner.organizationId, () => replay(deps, owner, sets, limit));
}

/** Refunds that are evaluated without a pause, within a few milliseconds. */
const evaluatedAtOnce = 50;

const dayMs = 24 * 60 * 60 * 1000;

async function replay({ db, clock }: Stores, owner: RefundOwner, sets: Sets, limit: number): Promise<Replay> {
  const policies = [...sets.current, ...sets.proposed];
  const to = clock.now();
  const since = new Date(+to - replayedDays * dayMs);
  const { start: first, isCutOff } = await startOfNewest(db, owner, { since, before: to }, limit);
  // What counts in the 24 hours before the first refund.
  const lead = countsDays(policies)
    ? await startOfNewest(
        db,
        owner,
        { since: new Date(+first.createdAt - dayMs), before: first.createdAt },
        limit,
      )
    : { start: first, isCutOff: false };
  const totals = new PastTotals();
  const findings = new Findings(sets);
  const seen = new Set<bigint>();
  const withMetadata = policies.some(({ match }) => match.metadata !== undefined);
  for await (const page of readPastRefunds(db, owner, { start: lead.start, before: to, withMetadata })) {
    const unseen = [...new Set(page.map(({ paymentId }) => paymentId))].filter((id) => !seen.has(id));
    for (const earlier of await readEarlierRefunds(db, unseen, lead.start)) totals.addEarlier(earlier);
    for (const id of unseen) seen.add(id);
    for (const [index, refund] of page.entries()) {
      // Others are served in between.
      if (index % evaluatedAtOnce === 0) await setImmediate();
      const facts = totals.factsAt(refund.createdAt, refund);
      if (isAfter(refund, first)) findings.add(refund, facts);
      totals.add(refund);
    }
  }
  return {
    ...{ from: first.createdAt, to, isCutOff },
    ...findings.result(),
    unknown: unknownOf(lead.isCutOff),
  };
}

function countsDays(policies: readonly Policy[]): boolean {
  const initiators = [{ initiatedBy: 'api', hasAgentKey: true }, { initiatedBy: 'dashboard' }] as const;
  return policies.some(
    (policy) =>
      policy.velocity.perDay !== undefined || initiators.some((each) => countsRequester(policy, each)),
  );
}

type Position = Pick<PastRefund, 'id' | 'createdAt'>;

function isAfter(refund: Position, { id, createdAt }: Position): boolean {
  return +refund.createdAt === +createdAt ? refund.id > id : refund.createdAt > createdAt;
}

/** What was found so far. */
class Findings {
  readonly #sets: Sets;
  #skippedCount = 0;
  #changedCount = 0;
  readonly #current = noOutcomes();
  readonly #proposed = noOutcomes();
  /** The oldest first. */
  readonly #changed: ReplayedRefund[] = [];
  readonly #blocked: ReplayedRefund[] = [];

  constructor(sets: Sets) {
    this.#sets = sets;
  }

  add({ payment, ...refund }: PastRefund, totals: ReturnType<PastTotals['factsAt']>): void {
    if (payment === null) {
      this.#skippedCount += 1;
      return;
    }
    const { amount, reason, metadata, initiatedBy, hasAgentKey } = refund;
    const request = { amount, reason, metadata, initiatedBy, hasAgentKey };
    const facts = { ...totals, transaction: payment, request, now: refund.createdAt, keyAmountInLastDay: 0n };
    // The limits of a key then are not on record.
    const current = outcomeOf(evaluateRefund({ policies: this.#sets.current, agentLimits: null }, facts));
    const verdict = evaluateRefund({ policies: this.#sets.proposed, agentLimits: null }, facts);
    const proposed = outcomeOf(verdict);
    this.#current[current] += 1;
    this.#proposed[proposed] += 1;
    const isChanged = current !== proposed;
    if (isChanged) this.#changedCount += 1;
    if (!isChanged && proposed !== 'blocked') return;
    const { id, transactionId, currency, status, createdAt } = refund;
    const named = isChanged ? this.#changed : this.#blocked;
    named.push({
      refund: { id, transactionId, amount, currency, status, createdAt },
      ...{ current, proposed, reason: verdict.reason, policyName: verdict.policyName },
    });
    if (named.length > maxNamed) named.shift();
  }

  result() {
    const refundCount = policyOutcomes.reduce((sum, outcome) => sum + this.#proposed[outcome], 0);
    return {
      ...{ refundCount, skippedCount: this.#skippedCount, changedCount: this.#changedCount },
      ...{ current: this.#current, proposed: this.#proposed },
      affected: [...this.#changed.toReversed(), ...this.#blocked.toReversed()].slice(0, maxNamed),
    };
  }
}

function noOutcomes(): Record<PolicyOutcome, number> {
  return { allowed: 0, not_blocked: 0, approval_required: 0, blocked: 0 };
}

function unknownOf(isLeadCutOff: boolean): string[] {
  return [
    'Requests that were refused at the time are not on record, so they are not replayed.',
    'Every refund counts towards the limits of later ones as it did, also if these policies would have stopped it.',
    'Amounts refunded outside this service, whether a key has limits for agents, and metadata are those of today.',
    'Limits of agent keys are not replayed.',
    ...(isLeadCutOff ? ['Limits per 24 hours may miss refunds of the first day.'] : []),
  ];
}

/** A replay in JSON: amounts in minor units as numbers, times in ISO 8601. */
export function toPublicReplay({ from, to, affected, ...counts }: Replay) {
  return {
    ...counts,
    from: from.toISOString(),
    to: to.toISOString(),
    refunds: affected.map(({ refund, policyName, ...decided }) => ({
      ...refund,
      amount: Number(refund.amount),
      createdAt: refund.createdAt.toISOString(),
      policy: policyName,
      ...decided,
    })),
  };
}
