import type { Refund, Scope } from '../ledger/ledger.ts';
import type { Sandbox } from '../ledger/state.ts';
import type { SearchCriteria, TimeRange } from './request.ts';
import { creditXml, saleOrderId, saleXml } from './xml.ts';

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
export function searchTransactions(sandbox: Sandbox, scope: Scope, criteria: SearchCriteria): Found[] {
  return transactions(sandbox, scope)
    .filter((found) => fits(found, criteria))
    .sort((a, b) => b.createdAt - a.createdAt);
}

function fits(found: Found, criteria: SearchCriteria): boolean {
  const { order_id: orderId, id, type, status, created_at: createdAt, voided_at: voidedAt, ids } = criteria;
  return (
    (orderId === undefined || orderId.is === found.orderId) &&
    (id === undefined || id.is === found.id) &&
    (type === undefined || type.includes(found.type)) &&
    (status === undefined || status.includes(found.status)) &&
    isWithin(found.createdAt, createdAt) &&
    isWithin(found.voidedAt, voidedAt) &&
    (ids === undefined || ids.includes(found.id))
  );
}

/** To the second, which is all that Braintree tells of a time; both ends included. */
function isWithin(moment: number | null, range: TimeRange | undefined): boolean {
  if (range === undefined) return true;
  if (moment === null) return false;
  const second = Math.floor(moment / 1000) * 1000;
  const { min, max } = range;
  return (min === undefined || second >= Date.parse(min)) && (max === undefined || second <= Date.parse(max));
}

function transactions(sandbox: Sandbox, scope: Scope): Found[] {
  const sales = sandbox.ledger.payments(scope).map((sale): Found => {
    const { id, status, createdAt } = sale;
    return {
      id,
      type: 'sale',
      orderId: saleOrderId(sale),
      status,
      createdAt,
      voidedAt: sandbox.ledger.refundsOf(sale).find(({ kind }) => kind === 'void')?.createdAt ?? null,
      xml: () => saleXml(sandbox.ledger, sale),
    };
  });
  const credits = sandbox.ledger.refunds(scope).filter((refund) => refund.kind === 'refund');
  return [...sales, ...credits.map(foundCredit)];
}

function foundCredit(credit: Refund): Found {
  const { id, reference, status, createdAt } = credit;
  return {
    id,
    type: 'credit',
    orderId: reference,
    status,
    createdAt,
    voidedAt: null,
    xml: () => creditXml(credit),
  };
}
