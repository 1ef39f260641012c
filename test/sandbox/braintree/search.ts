import type { Refund, Scope } from '../ledger.ts';
import type { Sandbox } from '../state.ts';
import type { SearchCriteria } from './request.ts';
import { creditXml, saleOrderId, saleXml } from './xml.ts';

interface Found {
  id: string;
  type: 'sale' | 'credit';
  orderId: string;
  status: string;
  createdAt: number;
  xml: () => string;
}

/** Sales and credits that fit every criterion, newest first. */
export function searchTransactions(sandbox: Sandbox, scope: Scope, criteria: SearchCriteria): Found[] {
  return transactions(sandbox, scope)
    .filter((found) => fits(found, criteria))
    .sort((a, b) => b.createdAt - a.createdAt);
}

function fits(found: Found, criteria: SearchCriteria): boolean {
  const { order_id: orderId, id, type, status, created_at: createdAt, ids } = criteria;
  return (
    (orderId === undefined || orderId.is === found.orderId) &&
    (id === undefined || id.is === found.id) &&
    (type === undefined || type.includes(found.type)) &&
    (status === undefined || status.includes(found.status)) &&
    (createdAt?.min === undefined || found.createdAt >= Date.parse(createdAt.min)) &&
    (createdAt?.max === undefined || found.createdAt <= Date.parse(createdAt.max)) &&
    (ids === undefined || ids.includes(found.id))
  );
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
      xml: () => saleXml(sandbox.ledger, sale),
    };
  });
  const credits = sandbox.ledger.refunds(scope).filter((refund) => refund.kind === 'refund');
  return [...sales, ...credits.map(foundCredit)];
}

function foundCredit(credit: Refund): Found {
  const { id, key, status, createdAt } = credit;
  return { id, type: 'credit', orderId: key, status, createdAt, xml: () => creditXml(credit) };
}
