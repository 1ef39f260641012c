import { afterAll, beforeAll, expect, test } from 'vitest';
import { readQueues } from '#shared/health/account-queues.ts';
import { openHealthReads, readHealth } from '#shared/health/read-health.ts';
import { renderMetrics } from '#shared/health/serve-metrics.ts';
import { countNeedingAttention } from '#shared/insights/needs-attention.ts';
import { kindsByRole, kindsOfChannel } from '#shared/notifications/kinds.ts';
import { noteOccasions } from '#shared/notifications/occasions.ts';
import { listProcessorAccounts, listUsableAccounts } from '#shared/processors/accounts/manage-accounts.ts';
import { findDueAccounts } from '#shared/reconciliation/runs.ts';
import { systemClock } from '../../support/clocks.ts';
import { type ReadSoFar, readSoFar } from '../../support/plans/reads.ts';
import { addIdleAccounts } from '../../support/processors/idle-accounts.ts';
import { fillRefunds } from '../../support/refunds/fill-refunds.ts';
import { newRefund } from '../../support/refunds/new-refund.ts';
import { newPayment } from '../../support/refunds/payments.ts';
import { query, withClient } from '../../support/stores/database-client.ts';
import { type Recording, recordStatements } from '../../support/stores/statements.ts';
import { useServiceAlone } from '../../support/use-service-alone.ts';

const idleCount = 10_000;

/** What a claim reads more of when more is leased, and such. */
const noise = 100;

// Begins before the service connects.
let recording: Recording;
beforeAll(() => {
  recording = recordStatements();
});
afterAll(() => recording.stop());

const service = useServiceAlone({
  workers: 0,
  settings: { DATABASE_POOL_SIZE: 1, CREATE_WAIT_MS: 0 },
  overrides: { clock: systemClock },
});

type Step = () => Promise<unknown>;

function steps(): Record<string, Step> {
  const { deps, organization } = service;
  const { db } = deps;
  const owner = { organizationId: organization.id, environment: 'test' } as const;
  const hourly = { ...service.settings, RECONCILIATION_INTERVAL_MS: 3_600_000 };
  return {
    'a claim': async () => {
      const { claims } = await deps.statements.claimDue('stripe', 1);
      expect(claims).toHaveLength(1);
    },
    'a sweep that finds nothing': () => deps.statements.claimDue('braintree', 100),
    'the choice of accounts to reconcile': () => findDueAccounts({ ...deps, settings: hourly }),
    'the state of the service': () => readHealth(db, 1_000),
    'a scrape of the metrics': () => renderMetrics({ ...deps, health: openHealthReads(db) }, {}),
    'the queues of an environment': () => readQueues(db, owner),
    'the counts of the navigation': () => countNeedingAttention(db, owner),
    'what people are notified of': () => noteOccasions(db, { ...kindsByRole, ...kindsOfChannel }),
    'the accounts of a form': () => listUsableAccounts(db, owner),
    'the accounts of the settings': () => listProcessorAccounts(db, organization.id),
  };
}

interface Cost extends ReadSoFar {
  statements: number;
}

async function costsOf(each: Record<string, Step>): Promise<Map<string, Cost>> {
  const costs = new Map<string, Cost>();
  for (const [name, step] of Object.entries(each)) {
    // The first time, some read what they keep.
    await step();
    const before = await readSoFar(service);
    const { length: statements } = await recording.during(step);
    const after = await readSoFar(service);
    costs.set(name, { statements, rows: after.rows - before.rows, pages: after.pages - before.pages });
  }
  return costs;
}

test('ten thousand idle connected accounts cost nothing', async () => {
  const transactionId = await newPayment(service, { amount: 100_000 });
  const made = steps();
  const refunds = Array.from({ length: 8 }, () => newRefund(service, { transactionId, amount: 1 }));
  await Promise.all(refunds);
  await query(service.databaseUrl, 'analyze');
  const without = await costsOf(made);
  await addIdleAccounts(service.databaseUrl, service.organization.id, idleCount);
  const withIdle = await costsOf(made);
  const grown = [...withIdle].filter(([name, cost]) => {
    const { statements = 0, rows = 0, pages = 0 } = without.get(name) ?? {};
    return cost.statements > statements || cost.rows > rows + noise || cost.pages > pages + noise;
  });
  expect(grown).toEqual([]);
});

test('the refunds of a connected account are listed without reading those of the others', async () => {
  const connectedAccount = 'acct_rare1';
  const direct = { processor: 'stripe', amount: 10_000, currency: 'usd', connectedAccount };
  const transactionId = await service.sandbox.transaction(direct);
  const { id } = await newRefund(service, { transactionId, connectedAccount });
  const { id: organizationId } = service.organization;
  const others = {
    organizationId,
    environment: 'test',
    count: 5_000,
    now: new Date(),
    days: 90,
    createdEvery: '1 millisecond',
  } as const;
  await withClient(service.databaseUrl, (client) => fillRefunds(client, others));
  const before = await readSoFar(service);
  const { body } = await service.call('GET', `/v1/refunds?account=stripe/${connectedAccount}`);
  const after = await readSoFar(service);
  expect(body.data).toMatchObject([{ id }]);
  expect(after.rows - before.rows).toBeLessThan(noise);
});
