import { z } from 'zod';
import { currencySchema, minorUnits } from '../money/amount-schemas.ts';
import { isCurrency } from '../money/money.ts';
import { holdsStorableTexts, unstorableMessage } from '../platform/formats/json.ts';
import { isPrintable } from '../platform/formats/printable.ts';
import { type InitiatedBy, type RefundReason, refundReasons } from '../refund-request/reasons.ts';
import type { Bounds } from './bounds.ts';

/** @param what such as `whole number of days`. */
function wholeNumber(least: number, greatest: number, what: string) {
  const message = `must be a ${what} from ${least} to ${greatest}`;
  return z.int({ error: message }).min(least, { error: message }).max(greatest, { error: message });
}

/**
 * A list of accepted values, stored sorted and without duplicates. A list with invalid items is one problem, because thousands
 * of problems would take a second to report.
 * @param itemProblem the message when `isItem` is false for any item.
 */
function nonEmptySet<Item extends string>(isItem: (text: string) => text is Item, itemProblem: string) {
  return z
    .custom<Item[]>(
      (items) =>
        Array.isArray(items) && items.every((item) => typeof item === 'string' && isItem(clean(item))),
      { error: (issue) => (Array.isArray(issue.input) ? itemProblem : 'must be a list') },
    )
    .refine((items) => items.length > 0, { error: 'must not be empty: leave it out to match everything' })
    .overwrite((items) => [...new Set(items.map((item) => clean(item) as Item))].toSorted())
    .meta({ type: 'array', items: { type: 'string' }, minItems: 1 });
}

function clean(item: string): string {
  return item.trim().toLowerCase();
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
  reasons: nonEmptySet(
    (text): text is RefundReason => refundReasons.some((reason) => reason === text),
    `must be one of: ${refundReasons.join(', ')}`,
  ).optional(),
  /** Compared with the total of the payment's refunds, including the requested one; a request without an amount passes. */
  amount: amountRangeSchema.optional(),
  /** Every key must be in the request's metadata with exactly this value. */
  metadata: z
    .record(
      z.string().min(1, { error: 'must not have an empty key' }),
      z.union([z.string(), z.number(), z.boolean()], { error: 'must be a string, a number or a boolean' }),
      { error: 'must be an object, such as {"category": "gift_card"}' },
    )
    .refine(holdsStorableTexts, { error: unstorableMessage })
    .refine((metadata) => Object.keys(metadata).length > 0, {
      error: 'must not be empty: leave it out to match everything',
    })
    .optional(),
});

const approvalThreshold = minorUnits(0).nullable().optional();

/** Per initiator. Stored without null values, which mean none. */
function perInitiator<Value extends z.ZodType>(value: Value) {
  return z
    .strictObject({ api: value, dashboard: value, mcp: value })
    .overwrite(
      (values) =>
        Object.fromEntries(Object.entries(values).filter(([, each]) => each !== null)) as typeof values,
    );
}

const approvalThresholds = perInitiator(approvalThreshold);

/** The longest time for which a policy holds refunds. */
const longestHoldSeconds = 3_600;

const hold = wholeNumber(0, longestHoldSeconds, 'whole number of seconds').nullable().optional();

const dayLimit = z
  .strictObject({
    count: wholeNumber(1, 1_000_000, 'whole number of refunds').optional(),
    amount: minorUnits(1).optional(),
  })
  .refine((limit) => limit.count !== undefined || limit.amount !== undefined, {
    error: 'must have a count, an amount or both',
  })
  .optional();

const velocitySchema = z.strictObject({
  /** All refunds of one payment. */
  perTransaction: wholeNumber(1, 10_000, 'whole number of refunds').optional(),
  /** Refunds of the organization in the last 24 hours. */
  perDay: dayLimit,
  /** Refunds of the same requester in the last 24 hours; see prisma/functions/limits/requester_of.sql. */
  perRequesterDay: dayLimit,
});

/** The column `rules`: everything in a policy but its name and priority. */
const policyRulesSchema = z.strictObject({
  match: matchSchema.default({}),
  /** The refund window: this many times 24 hours after the charge; null for no limit. */
  windowDays: wholeNumber(1, 36_500, 'whole number of days').nullable().default(null),
  /** All refunds of a payment together, in percent of its original amount, rounded down to a minor unit. */
  maxPercent: wholeNumber(1, 100, 'whole number of percent').nullable().default(null),
  /** All refunds of a payment together; applies only to payments in this currency. */
  maxAmount: z
    .strictObject({ amount: minorUnits(1), currency: currencySchema })
    .nullable()
    .default(null),
  finalSale: z.boolean().default(false),
  /** A refund requires approval when all refunds of its payment come to more than this with it. */
  approvalAbove: approvalThresholds.default({}),
  /**
   * A refund requires approval when all refunds of its requester in the last 24 hours come to more than this with it. Not stored
   * when left out, so that earlier versions can read the policy.
   */
  approvalAbovePerRequesterDay: approvalThresholds.optional(),
  /**
   * How many seconds a refund is held before it is sent, so that it can be cancelled for certain. Not stored when left out, as above.
   */
  holdSeconds: perInitiator(hold).optional(),
  velocity: velocitySchema.default({}),
  /** Whether a denial blocks the refund. For agents (mcp, or a key with limits) it always does. */
  enforce: z
    .strictObject({ api: z.boolean().default(false), dashboard: z.boolean().default(false) })
    .default({ api: false, dashboard: false }),
});

/** A policy: its rules, name and priority. */
export const policySchema = policyRulesSchema.extend({
  name: z
    .string()
    .trim()
    .min(1, { error: 'must not be empty' })
    .max(100, { error: 'must have at most 100 characters' })
    .refine((name) => isPrintable(name, { max: 100 }), { error: 'must have printable characters only' }),
  /** The lowest number is checked first. */
  priority: wholeNumber(0, 1_000_000, 'whole number'),
});

/** A policy with its amounts as bigint. */
export type Policy = z.output<typeof policySchema>;

/** A policy as JSON. */
export type PolicyInput = z.input<typeof policySchema>;

/**
 * Policies in the order in which they are checked: by priority, the lowest first, then by name. Names are compared by code
 * unit, so that the order does not depend on the locale of the process.
 */
export function inOrder(policies: readonly Policy[]): Policy[] {
  return policies.toSorted((a, b) => a.priority - b.priority || (a.name < b.name ? -1 : 1));
}

/** A policy as its row stores it. */
export interface StoredPolicy<Rules = unknown> {
  name: string;
  priority: number;
  rules: Rules;
}

/**
 * Reads a policy from its row.
 * @throws z.ZodError when the row is not a valid policy.
 */
export function policyFromRow({ name, priority, rules }: StoredPolicy): Policy {
  return { ...policyRulesSchema.parse(rules), name, priority };
}

/** The row of a policy, with amounts as JSON numbers. */
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
  /** When the last of them was created; null without refunds, or when it was not read. */
  lastAt: Date | null;
}

/** Refunds created in the 24 hours before a decision that have neither failed nor been cancelled. */
export interface Velocity {
  refundsInLastDay: number;
  /** Of those in the currency of the decision's payment. */
  amountInLastDay: bigint;
}

/** The input of a decision. Amounts are minor units in the transaction's currency. */
export interface PolicyFacts {
  transaction: {
    amount: bigint;
    /** Lowercase ISO 4217. */
    currency: string;
    chargedAt: Date;
    processor: string;
    /** Refunded outside this service. */
    refundedOutside: bigint;
  };
  /** This service's refunds of the payment that have neither failed nor been cancelled. */
  refunds: RefundSummary;
  /** Of the organization, in the same environment. */
  velocity: Velocity;
  /** Of the requester, in the same environment. */
  requesterVelocity: Velocity;
  request: {
    amount: bigint | null;
    reason: RefundReason | null;
    metadata: Readonly<Record<string, unknown>> | null;
    initiatedBy: InitiatedBy;
    /** True for a key with agent limits: its refunds are those of an agent, whichever way they are requested. */
    hasAgentKey?: boolean;
  };
  now: Date;
}

/** The rules of a policy, in the order in which they are checked: permanent denials come before those that time may lift. */
export const denialCodes = [
  'fully_refunded',
  'final_sale',
  'window',
  'per_payment',
  'per_day',
  'per_requester_day',
  'amount',
] as const;

export type DenialCode = (typeof denialCodes)[number];

/** An amount above which a refund requires approval. */
export interface Threshold {
  /** What is compared: the refunds of the payment, with a threshold of a policy or of the key, or those of the requester in 24 hours. */
  of: 'payment' | 'requester' | 'key';
  above: bigint;
  /** What these refunds come to, including this one; without an amount, including the smallest refund. */
  total: bigint;
}

/** The decision on a refund. */
export interface PolicyVerdict {
  eligible: boolean;
  /** The decision in words, and what to do next. */
  reason: string;
  /** What can be refunded now; 0n when nothing is left, null when no amount can be refunded. */
  maxAmount: bigint | null;
  /** The last moment for a refund; null without a window, and when no refund is possible any more. */
  deadline: Date | null;
  conditions: string[];
  /** The policy that decided; null when none matched. */
  policyName: string | null;
  /** Whether a denial blocks the refund for this initiator. */
  enforced: boolean;
  /** Whether the refund requires approval; also set on a denial, because that may not block it. */
  approvalRequired: boolean;
  /** How many seconds the refund is held before it is sent; 0 for not at all. */
  holdSeconds: number;
  /** The rule that denies the refund; null when it is eligible, or when no rule decided. */
  deniedBy: DenialCode | null;
  /** The thresholds that require approval. */
  exceeded: readonly Threshold[];
  /** Within which the verdict stays, as far as it matters for the refund; null when no other refund can change it. */
  bounds: Bounds | null;
}
