import { formatAmount } from '../money/money.ts';
import { amountIn, type Balance, type Cap, percentOf, type RefundWindow } from './balance.ts';
import type { Policy, Threshold } from './policy.ts';

/** A number with its noun: '1 day', '30 days'. */
export function countOf(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? '' : 's'}`;
}

/** A hold in words: '30 seconds', '2 minutes'. */
export function holdInWords(seconds: number): string {
  return seconds % 60 === 0 ? countOf(seconds / 60, 'minute') : countOf(seconds, 'second');
}

export function holdCondition(seconds: number): string {
  return `Hold: sent ${holdInWords(seconds)} after it is created or approved, and can be cancelled until then`;
}

function previousRefunds(balance: Balance): string {
  const { taken, outside, refundCount, lastRefundAt, currency } = balance;
  if (taken === 0n) return 'Previous partial refunds: none';
  const made = refundCount === 0 ? [] : [`${countOf(refundCount, 'refund')} by this service`];
  if (lastRefundAt !== null) made.push(`the last on ${lastRefundAt.toISOString()}`);
  if (outside > 0n) made.push(`${formatAmount(outside, currency)} outside this service`);
  return `Previous partial refunds: ${formatAmount(taken, currency)} (${made.join(', ')})`;
}

/** How the remaining amount of a payment is computed. */
export function balanceConditions(balance: Balance): string[] {
  return [
    `Original amount: ${formatAmount(balance.original, balance.currency)}`,
    previousRefunds(balance),
    `Remaining amount: ${formatAmount(balance.remaining, balance.currency)}`,
  ];
}

/** The rules of a policy that apply to this payment. */
export function policyConditions(
  policy: Policy,
  balance: Balance,
  window: RefundWindow | null,
  thresholds: readonly Threshold[],
): string[] {
  if (policy.finalSale) return ['Final sale: no refunds'];
  const { currency } = balance;
  const { windowDays, maxPercent, maxAmount } = policy;
  const { perTransaction, perDay, perRequesterDay } = policy.velocity;
  const line = (name: string, limit: string | null) => (limit === null ? [] : [`${name}: ${limit}`]);
  const refunds = (count: number | undefined) => (count === undefined ? null : countOf(count, 'refund'));
  const money = (amount: bigint | undefined) =>
    amount === undefined ? null : formatAmount(amount, currency);
  const end = window && `${window.open ? 'open until' : 'closed since'} ${window.deadline.toISOString()}`;
  const share = maxPercent === null ? undefined : percentOf(balance.original, maxPercent);
  return [
    ...line('Refund window', end && `${countOf(windowDays ?? 0, 'day')} after the charge, ${end}`),
    ...line(
      'Limit per payment',
      share === undefined ? null : `${maxPercent}% of the original amount, ${money(share)}`,
    ),
    ...line('Limit per payment', money(amountIn(currency, maxAmount))),
    ...line('Limit per payment', refunds(perTransaction)),
    ...line('Limit in 24 hours', refunds(perDay?.count)),
    ...line('Limit in 24 hours', money(perDay?.amount)),
    ...line('Limit per requester in 24 hours', refunds(perRequesterDay?.count)),
    ...line('Limit per requester in 24 hours', money(perRequesterDay?.amount)),
    ...thresholds.map(({ of, above }) => {
      const counted = of === 'payment' ? "this payment's refunds" : "the requester's refunds in 24 hours";
      return `Approval: required when ${counted} exceed ${money(above)}`;
    }),
  ];
}

/** Why a refund of this amount is allowed, or of any amount when it is null. */
export function allowedReason(
  amount: bigint | null,
  maximum: bigint,
  { currency }: Pick<Balance, 'currency'>,
  deadline: Date | null,
  approvalRequired: boolean,
): string {
  const by = deadline === null ? '' : ` by ${deadline.toISOString()}`;
  const approval = approvalRequired ? ' It will require approval.' : '';
  if (amount === null) {
    const upTo = formatAmount(maximum, currency);
    return `This payment can be refunded. Create a refund of at most ${upTo}${by}.${approval}`;
  }
  return `A refund of ${formatAmount(amount, currency)} is allowed. Create it${by || ' at any time'}.${approval}`;
}

/** What to do about a denial that time does not lift. */
export const askForException = 'Ask an administrator of the organization for an exception.';

function describeCap(policy: Policy | null, kind: Cap['kind'], currency: string): string {
  if (policy === null || kind === 'balance') return 'this payment';
  const allowed = `that the policy "${policy.name}" allows to be refunded`;
  if (kind === 'maxPercent') return `the ${policy.maxPercent}% of this payment ${allowed}`;
  const { maxAmount, velocity } = policy;
  const [limit, scope] = {
    maxAmount: [maxAmount?.amount, 'per payment'] as const,
    perDay: [velocity.perDay?.amount, 'in 24 hours'] as const,
    perRequesterDay: [velocity.perRequesterDay?.amount, 'per requester in 24 hours'] as const,
  }[kind];
  return `the ${formatAmount(limit ?? 0n, currency)} ${allowed} ${scope}`;
}

/** Why less than the requested amount can be refunded, or nothing. */
export function limitReason(
  policy: Policy | null,
  amount: bigint | null,
  cap: Cap,
  { currency }: Balance,
): string {
  const whole = describeCap(policy, cap.kind, currency);
  if (amount === null || cap.left === 0n) return `Nothing is left of ${whole}. ${askForException}`;
  const left = formatAmount(cap.left, currency);
  return `${formatAmount(amount, currency)} is more than the ${left} left of ${whole}. Request at most ${left}.`;
}
