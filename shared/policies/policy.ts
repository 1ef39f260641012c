import { z } from 'zod';
import { isCurrency } from '../money/money.ts';
import { holdsStorableTexts, isStorable, unstorableMessage } from '../platform/json.ts';
import { type InitiatedBy, type RefundReason, refundReasons } from '../refunds/model/reasons.ts';
import { holdsReservation, type RefundStatus } from '../refunds/model/states.ts';

/** Amounts are safe integers in JSON and bigint inside; `z.encode` turns a policy back into JSON. */
function minorUnits(smallest: 0 | 1) {
  const message = `must be a whole number of minor units, ${smallest} or more (1050 is 10.50 USD)`;
  return z.codec(
    z.int({ error: message }).min(smallest, { error: message }),
    z.bigint().min(BigInt(smallest), { error: message }),
    {
      decode: (amount) => BigInt(amount),
      encode: (amount) => Number(amount),
    },
  );
}

function wholeNumber(greatest: number, of: string) {
  const message = `must be a whole number of ${of} from 1 to ${greatest}`;
  return z.int({ error: message }).min(1, { error: message }).max(greatest, { error: message });
}

/**
 * Any of these matches, so that neither order nor repetition says anything: the same choice is always the same list. All that
 * is wrong is one problem, because a problem for each of thousands of items would take a second.
 * @param itemProblem what is wrong when `isItem` is not true of one of them.
 */
function nonEmptySet<Item extends string>(isItem: (text: string) => text is Item, itemProblem: string) {
  return z
    .custom<Item[]>(
      (items) =>
        Array.isArray(items) && items.every((item) => typeof item === 'string' && isItem(clean(item))),
      { error: (issue) => (Array.isArray(issue.input) ? itemProblem : 'must be a list') },
    )
    .refine((items) => items.length > 0, {
      error: 'must not be empty: leave it out to match everything',
    })
    .overwrite((items) => [...new Set(items.map((item) => clean(item) as Item))].toSorted());
}

function clean(item: string): string {
  return item.trim().toLowerCase();
}

const currencySchema = z
  .string()
  .toLowerCase()
  .refine(isCurrency, { error: 'must be an ISO 4217 currency, for example "usd"' });

function isReason(text: string): text is RefundReason {
  return (refundReasons as readonly string[]).includes(text);
}

const amountRangeSchema = z
  .strictObject({ min: minorUnits(1).optional(), max: minorUnits(1).optional() })
  .refine((range) => range.min !== undefined || range.max !== undefined, {
    error: 'must have a min, a max or both',
  })
  .refine((range) => range.min === undefined || range.max === undefined || range.min <= range.max, {
    error: 'min must not be greater than max',
  });

const matchSchema = z.strictObject({
  processors: nonEmptySet((text): text is string => text !== '', 'must name processors').optional(),
  currencies: nonEmptySet(
    (text): text is string => isCurrency(text),
    'must be ISO 4217 currencies, for example "usd"',
  ).optional(),
  reasons: nonEmptySet(isReason, `must be one of: ${refundReasons.join(', ')}`).optional(),
  /** Compared with the requested amount; a request without an amount passes. */
  amount: amountRangeSchema.optional(),
  /** Every key must be in the request's metadata with exactly this value. */
  metadata: z
    .record(
      z.string().min(1, { error: 'the empty text is no key' }),
      z.union([z.string(), z.number(), z.boolean()], {
        error: 'must be a string, a number or a boolean',
      }),
    )
    .refine(holdsStorableTexts, { error: unstorableMessage })
    .refine((metadata) => Object.keys(metadata).length > 0, {
      error: 'must not be empty: leave it out to match everything',
    })
    .optional(),
});

const approvalThreshold = minorUnits(0).nullable().optional();

const velocitySchema = z.strictObject({
  /** Refunds of one payment, those before included. */
  perTransaction: wholeNumber(10_000, 'refunds').optional(),
  /** Refunds of the organization in any 24 hours. */
  perDay: z
    .strictObject({ count: wholeNumber(1_000_000, 'refunds').optional(), amount: minorUnits(1).optional() })
    .refine((perDay) => perDay.count !== undefined || perDay.amount !== undefined, {
      error: 'must have a count, an amount or both',
    })
    .optional(),
});

/** What the column `rules` of a policy holds: all of the policy but its name and priority. */
export const policyRulesSchema = z.strictObject({
  match: matchSchema.default({}),
  /** A refund is possible for so many times 24 hours after the charge; null for ever. */
  windowDays: wholeNumber(36_500, 'days').nullable().default(null),
  /** All refunds of a payment together, in percent of its original amount, rounded down to the minor unit. */
  maxPercent: wholeNumber(100, 'percent').nullable().default(null),
  /** All refunds of a payment together; holds only for payments in this currency. */
  maxAmount: z
    .strictObject({ amount: minorUnits(1), currency: currencySchema })
    .nullable()
    .default(null),
  finalSale: z.boolean().default(false),
  /** A refund of more than this waits for a person; none asks nobody, and null is taken for none. */
  approvalAbove: z
    .strictObject({ api: approvalThreshold, dashboard: approvalThreshold, mcp: approvalThreshold })
    .overwrite((thresholds) =>
      Object.fromEntries(Object.entries(thresholds).filter(([, amount]) => amount !== null)),
    )
    .default({}),
  velocity: velocitySchema.default({}),
  /** Whether a denial stops the refund or is advice. Agents (mcp) have no choice: for them it always stops. */
  enforce: z
    .strictObject({ api: z.boolean().default(false), dashboard: z.boolean().default(false) })
    .default({ api: false, dashboard: false }),
});

/** No policy has a higher number for its place in the order. */
export const highestPriority = 1_000_000;

/** A whole policy: its rules, its name for people and its place in the order. */
export const policySchema = policyRulesSchema.extend({
  name: z
    .string()
    .trim()
    .refine(isStorable, { error: unstorableMessage })
    .min(1, { error: 'must not be empty' })
    .max(100, { error: 'must have 100 characters at most' }),
  /** The lowest number is asked first. */
  priority: z.int({ error: 'must be a whole number' }).min(0).max(highestPriority),
});

/** A policy with its amounts as bigint. */
export type Policy = z.output<typeof policySchema>;

/** A policy as it is written in JSON. */
export type PolicyInput = z.input<typeof policySchema>;

/**
 * Policies in the order in which they are asked: by priority, the lowest first, and by name where priorities are equal.
 * Names are compared by code unit, so that the order does not depend on the locale of the process.
 */
export function inOrder(policies: readonly Policy[]): Policy[] {
  return policies.toSorted((a, b) => a.priority - b.priority || (a.name < b.name ? -1 : 1));
}

/** The file an operator sets policies from: all policies of an organization. */
export const policyFileSchema = z.strictObject({
  policies: z
    .array(policySchema)
    .min(1, { error: 'must hold at least one policy: without any, every refund would be allowed' })
    .superRefine((policies, context) => {
      const seen = new Set<string>();
      for (const [index, { name }] of policies.entries()) {
        if (seen.has(name)) {
          context.addIssue({
            code: 'custom',
            path: [index, 'name'],
            message: `two policies are named "${name}"`,
          });
        }
        seen.add(name);
      }
    }),
});

/** A policy the way its row has it. */
export interface StoredPolicy<Rules = unknown> {
  name: string;
  priority: number;
  rules: Rules;
}

/**
 * Reads a policy from its row.
 * @throws z.ZodError when the row holds something else than a policy.
 */
export function policyFromRow({ name, priority, rules }: StoredPolicy): Policy {
  return { ...policyRulesSchema.parse(rules), name, priority };
}

/** Writes a policy as its row has it, with amounts as JSON numbers. */
export function policyToRow(policy: Policy): StoredPolicy<z.input<typeof policyRulesSchema>> {
  const { name, priority, ...rules } = policySchema.encode(policy);
  return { name, priority, rules };
}

/** The policy a new organization starts with. */
export const defaultPolicy: Policy = policySchema.parse({
  name: 'Default 30-day policy',
  priority: 100,
  windowDays: 30,
} satisfies PolicyInput);

/** Refunds taken together. */
export interface RefundSummary {
  count: number;
  amount: bigint;
  /** When the last of them was created; null without any, and where it was not asked for. */
  lastAt: Date | null;
}

/** Sums up those that have neither failed nor been cancelled. */
export function summaryOf(
  refunds: readonly { amount: bigint; status: RefundStatus; createdAt: Date }[],
): RefundSummary {
  const live = refunds.filter(({ status }) => holdsReservation(status));
  return {
    count: live.length,
    amount: live.reduce((sum, { amount }) => sum + amount, 0n),
    lastAt: live.length === 0 ? null : new Date(Math.max(...live.map(({ createdAt }) => +createdAt))),
  };
}

/**
 * Bounds of a policy that refunds which are created at the same time could pass together; what is left out does not limit.
 * Amounts are minor units of the payment's currency.
 */
export interface PolicyLimits {
  /** All refunds of the payment together. */
  maxTaken?: bigint;
  /** Refunds of the payment. */
  maxRefunds?: number;
  /** Refunds of the organization in 24 hours, and their amount in the payment's currency. */
  dayCount?: number;
  dayAmount?: bigint;
}

/** Everything a decision rests on. Amounts are minor units in the transaction's currency. */
export interface PolicyFacts {
  transaction: {
    amount: bigint;
    /** Lowercase ISO 4217. */
    currency: string;
    chargedAt: Date;
    processor: string;
    /** What was refunded of the payment without this service. */
    refundedOutside: bigint;
  };
  /** Our refunds of the payment so far that have neither failed nor been cancelled. */
  refunds: RefundSummary;
  /**
   * The organization's refunds in the same environment that were created in the 24 hours before `now` and have
   * neither failed nor been cancelled: all of them by number, those in the transaction's currency by amount.
   */
  velocity: { refundsInLastDay: number; amountInLastDay: bigint };
  request: {
    amount: bigint | null;
    reason: RefundReason | null;
    metadata: Readonly<Record<string, unknown>> | null;
    initiatedBy: InitiatedBy;
  };
  now: Date;
}

/** The name of a step of the evaluation. */
export type PolicyRule =
  | 'transaction'
  | 'match'
  | 'approval'
  | 'fullyRefunded'
  | 'finalSale'
  | 'window'
  | 'perTransaction'
  | 'perDay'
  | 'limit';

/** One step of the evaluation: what was asked, with which facts, and how it came out. Plain JSON. */
export interface TraceStep {
  rule: PolicyRule;
  facts: Record<string, string | number | boolean | null>;
  outcome: 'matched' | 'notMatched' | 'passed' | 'denied' | 'required' | 'notRequired';
}

/** The answer to whether a refund may be made. */
export interface PolicyVerdict {
  eligible: boolean;
  /** The decision in words, with what to do next. */
  reason: string;
  /** What can be refunded now; 0n when nothing is left, null when the payment cannot be refunded whatever the amount. */
  maxAmount: bigint | null;
  /** The last moment for a refund; null without a window, and once no refund is possible any more. */
  deadline: Date | null;
  conditions: string[];
  /** The policy that decided; null when none matched. */
  policyName: string | null;
  /** Whether a denial stops the refund for this initiator; else it is advice. */
  enforced: boolean;
  /** Whether the refund waits for a person; also told of a denial, because a denial may be advice only. */
  approvalRequired: boolean;
  /** What has to hold when the refund is recorded, too; null where the policy only advises. */
  limits: PolicyLimits | null;
  /** Every step in order; the last one decided. */
  trace: TraceStep[];
}
