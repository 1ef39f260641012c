import { z } from 'zod';
import type { Ledger, Scope } from '../ledger.ts';
import { creditXml, saleOrderId, saleXml } from './xml.ts';

const timeRange = z.object({ min: z.iso.datetime().optional(), max: z.iso.datetime().optional() });

export const searchBody = z.object({
  search: z.strictObject({
    order_id: z.object({ is: z.string() }).optional(),
    type: z.array(z.string()).optional(),
    status: z.array(z.string()).optional(),
    created_at: timeRange.optional(),
    voided_at: timeRange.optional(),
    ids: z.array(z.string()).optional(),
  }),
});

interface Found {
  id: string;
  type: 'sale' | 'credit';
  orderId: string;
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
  const { order_id: orderId, type, status, created_at: createdAt, voided_at: voidedAt, ids } = criteria;
  return transactions(ledger, scope)
    .filter(
      (found) =>
        (orderId === undefined || orderId.is === found.orderId) &&
        (type === undefined || type.includes(found.type)) &&
        (status === undefined || status.includes(found.status)) &&
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
    const voided = ledger.refundsOf(sale).find(({ kind }) => kind === 'void');
    const [orderId, voidedAt] = [saleOrderId(sale), voided?.createdAt ?? null];
    return { id, type: 'sale', orderId, status, createdAt, voidedAt, xml: () => saleXml(ledger, sale) };
  });
  const credits = ledger.refunds(scope).filter((refund) => refund.kind === 'refund');
  return [
    ...sales,
    ...credits.map((credit): Found => {
      const { id, reference: orderId, status, createdAt } = credit;
      return { id, type: 'credit', orderId, status, createdAt, voidedAt: null, xml: () => creditXml(credit) };
    }),
  ];
}
