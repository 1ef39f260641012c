import { readHealth } from '#shared/health/read-health.ts';
import { findRefundsNeedingAttention } from '#shared/insights/needs-attention.ts';
import { readOverview } from '#shared/insights/overview.ts';
import { readAuditLog } from '#shared/platform/audit-log.ts';
import { acceptedWithin, findPaymentsAwaitingApproval } from '#shared/reconciliation/our-refunds.ts';
import { findDueAccounts } from '#shared/reconciliation/runs.ts';
import { findErasable } from '#shared/refunds/decisions/erase.ts';
import { claimDueRefunds } from '#shared/refunds/lifecycle/claim.ts';
import { exportRefunds } from '#shared/refunds/queries/export-refunds.ts';
import { searchRefunds } from '#shared/refunds/queries/search-refunds.ts';
import type { TestService } from '../support/service.ts';
import { query } from '../support/stores/database-client.ts';

const dayMs = 86_400_000;

/** What reads more than a page, or from elsewhere than its beginning, of a database that was grown. */
export async function grownSteps(service: TestService): Promise<Record<string, () => Promise<unknown>>> {
  const { deps, databaseUrl, organization } = service;
  const { db } = deps;
  const owner = { organizationId: organization.id, environment: 'test' } as const;
  const ofOwner = `organization_id = '${owner.organizationId}' and environment = 'test'`;
  const [{ pages }] = await query(
    databaseUrl,
    "select relpages as pages from pg_class where relname = 'refund'",
  );
  // From all over the table, in its order.
  const share = Math.min(100, 50_000 / pages);
  const some = await query(
    databaseUrl,
    `select id, transaction_id, external_refund_id, metadata->>'order' as "order" from refund tablesample system (${share})
     where ${ofOwner} and id like 'ref_00%' and metadata is not null and external_refund_id is not null order by id`,
  );
  const [feed] = await query(
    databaseUrl,
    `select (select id from refund_event where ${ofOwner} and position >= (select max(position) / 2 from refund_event)
       order by position limit 1) as middle,
       (select id from refund_event where ${ofOwner} order by position desc limit 1) as newest`,
  );
  const middle = some[Math.floor(some.length / 2)];
  let turn = 0;
  const next = () => {
    turn += 1;
    return some[turn % some.length];
  };
  const get = (url: () => string) => async () => {
    const { status, body } = await service.call('GET', url());
    if (status !== 200) throw new Error(`${url()}: ${JSON.stringify(body)}`);
  };
  const [from, to] = [61, 31].map((days) => new Date(Date.now() - days * dayMs).toISOString());
  const month = `createdAfter=${from}&createdBefore=${to}`;
  const yesterday = new Date(Date.now() - dayMs);
  const now = new Date();
  const stripe = { ...owner, processor: 'stripe' };
  const audit = { organizationId: owner.organizationId, limit: 50 };
  return {
    'get, any refund': get(() => `/v1/refunds/${next().id}`),
    'timeline of any refund': get(() => `/v1/refunds/${next().id}/events`),
    'list from the middle': get(() => `/v1/refunds?after=${middle.id}`),
    'list of a month': get(() => `/v1/refunds?${month}`),
    'list of a month, failed': get(() => `/v1/refunds?${month}&status=failed`),
    'list, three filters': get(() => '/v1/refunds?status=cancelled&initiatedBy=mcp&reason=other'),
    'list, rare metadata': get(() => `/v1/refunds?metadata[order]=${next().order}`),
    'list, frequent metadata': get(() => '/v1/refunds?metadata[channel]=shop'),
    'list, frequent metadata, failed': get(() => '/v1/refunds?metadata[channel]=shop&status=failed'),
    'list by payment': get(() => `/v1/refunds?transactionId=${next().transaction_id}`),
    'feed from the middle': get(() => `/v1/events?after=${feed.middle}&limit=100`),
    'feed at its end': get(() => `/v1/events?after=${feed.newest}&limit=100`),
    'feed of one type from the middle': get(() => `/v1/events?after=${feed.middle}&type=refund.cancelled`),
    "search by the processor's id": () =>
      searchRefunds(db, owner, { q: next().external_refund_id }, { cursor: null, limit: 50 }),
    'overview of 30 days': () => readOverview(db, owner, { now, days: 30, currency: null }),
    'overview of 90 days': () => readOverview(db, owner, { now, days: 90, currency: null }),
    'export of a day': async () => {
      const pieces = exportRefunds(db, owner, { createdAfter: yesterday });
      while (!(await pieces.next()).done);
    },
    'what to erase by metadata': () => findErasable(db, owner, { metadata: { order: next().order } }),
    activity: () => readAuditLog(db, audit),
    'activity, rare action': () => readAuditLog(db, { ...audit, action: 'policies.set' }),
    'reconciliation, accounts that are due': () => findDueAccounts(deps),
    'reconciliation, accepted in a day': async () => {
      const batches = acceptedWithin(db, stripe, { from: yesterday, to: now });
      while (!(await batches.next()).done);
    },
    'recovery, payments that await approval': () => findPaymentsAwaitingApproval(db, stripe),
    'what needs attention, of all organizations': () => findRefundsNeedingAttention(db, {}),
    'health, for metrics and readiness': () => readHealth(db),
    'sweep without due refunds': () => claimDueRefunds(deps, 'stripe', 50),
  };
}
