import { z } from 'zod';
import type { Ledger, Scope } from '../ledger.ts';
import { creditXml, saleOrderId, saleXml } from './objects.ts';

const timeRange = z.object({ min: z.iso.datetime().optional(), max: z.iso.datetime().optional() });
const text = z.object({ is: z.string() }).optional();

export const searchBody = z.object({
  search: z.strictObject({
    id: text,
    order_id: text,
    type: z.array(z.string()).optional(),
    status: z.array(z.string()).optional(),
    refund: z.boolean().optional(),
    created_at: timeRange.optional(),
    voided_at: timeRange.optional(),
    ids: z.array(z.string()).optional(),
  }),
});

interface Found {
  id: string;
  type: 'sale' | 'credit';
  orderId: string;
  /** Also of a sale that was refunded. */
  isRefund: boolean;
  status: string;
  createdAt: number;
  /** Null for what never happened, and for credits, which are not searched by it. */
  voidedAt: number | null;
  xml: () => string;
}

/** Sales and credits that fit every criterion, newest first. */
export function searchTransactions(
  ledger: Ledger,
  scope: Scope,
  criteria: z.infer<typeof searchBody>['search'],
): Found[] {
  const { id, order_id: orderId, type, status, refund, ids } = criteria;
  const { created_at: createdAt, voided_at: voidedAt } = criteria;
  return transactions(ledger, scope)
    .filter(
      (found) =>
        (id === undefined || id.is === found.id) &&
        (orderId === undefined || orderId.is === found.orderId) &&
        (type === undefined || type.includes(found.type)) &&
        (status === undefined || status.includes(found.status)) &&
        (refund === undefined || refund === found.isRefund) &&
        isWithin(found.createdAt, createdAt) &&
        isWithin(found.voidedAt, voidedAt) &&
        (ids === undefined || ids.includes(found.id)),
    )
    .sort((a, b) => b.createdAt - a.createdAt);
}

/** To the second, which is all that Braintree tells of a time; both ends included. */
function isWithin(moment: number | null, range: z.infer<typeof timeRange> | undefined): boolean {
  if (range === undefined) return true;
  if (moment === null) return false;
  const second = Math.floor(moment / 1000) * 1000;
  const { min, max } = range;
  return (min === undefined || second >= Date.parse(min)) && (max === undefined || second <= Date.parse(max));
}

function transactions(ledger: Ledger, scope: Scope): Found[] {
  const sales = ledger.payments(scope).map((sale): Found => {
    const { id, status, createdAt } = sale;
    const refunds = ledger.refundsOf(sale);
    const voidedAt = refunds.find(({ kind }) => kind === 'void')?.createdAt ?? null;
    const isRefund = refunds.some(({ kind }) => kind !== 'void');
    const facts = { id, status, createdAt, voidedAt, isRefund, orderId: saleOrderId(sale) };
    return { ...facts, type: 'sale', xml: () => saleXml(ledger, sale) };
  });
  const credits = ledger.refunds(scope).filter(({ kind }) => kind !== 'void');
  return [
    ...sales,
    ...credits.map((credit): Found => {
      const { id, reference: orderId, status, createdAt } = credit;
      const facts = { id, status, createdAt, voidedAt: null, isRefund: true, orderId };
      return { ...facts, type: 'credit', xml: () => creditXml(ledger, credit) };
    }),
  ];
}
