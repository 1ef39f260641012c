import { environments } from '../platform/environment.ts';
import type { Metrics } from '../platform/telemetry/metrics.ts';
import { processorNames } from '../processors/registry.ts';
import type { ProcessorPlace, ServiceHealth } from './read-health.ts';
import { isUnanswered } from './trouble.ts';

const places = processorNames.flatMap((processor) =>
  environments.map((environment) => ({ processor, environment })),
);

/** Sets the metrics that come from the database. @param health null when it could not be read: their values are then missing. */
export function setHealth(metrics: Metrics, health: ServiceHealth | null): void {
  const { oldestDueSeconds, openRefunds, unansweredSeconds, misconfiguredAccounts } = metrics;
  for (const gauge of [oldestDueSeconds, openRefunds, unansweredSeconds, misconfiguredAccounts])
    gauge.reset();
  metrics.databaseUp.set(health === null ? 0 : 1);
  // No number at all, because 0 would say that no worker runs.
  metrics.workersAlive.set(health?.workers.alive ?? Number.NaN);
  metrics.recoveryRequired.set(health === null ? Number.NaN : Number(health.workers.heldSince !== null));
  metrics.undeliveredSeconds.set(health === null ? Number.NaN : age(health, health.undeliveredSince));
  if (health === null) return;
  for (const place of places) {
    oldestDueSeconds.set(place, 0);
    unansweredSeconds.set(place, 0);
  }
  setWork(metrics, health);
  setTrouble(metrics, health);
}

function setWork({ oldestDueSeconds, openRefunds }: Metrics, health: ServiceHealth): void {
  for (const { due, later, dueSince, ...place } of health.work) {
    const labels = labelsOf(place);
    oldestDueSeconds.set(labels, age(health, dueSince));
    openRefunds.set({ ...labels, state: 'due' }, due);
    openRefunds.set({ ...labels, state: 'due_later' }, later);
  }
  for (const { refunds, ...place } of health.flagged)
    openRefunds.set({ ...labelsOf(place), state: 'flagged' }, refunds);
  for (const { refunds, ...place } of health.pending)
    openRefunds.set({ ...labelsOf(place), state: 'awaiting_approval' }, refunds);
}

function setTrouble(metrics: Metrics, health: ServiceHealth): void {
  for (const { accounts, ...place } of health.misconfigured) {
    metrics.misconfiguredAccounts.set(labelsOf(place), accounts);
  }
  const longest = new Map<string, number>();
  for (const account of health.accountsInTrouble) {
    const labels = labelsOf(account);
    metrics.openRefunds.inc({ ...labels, state: 'retrying' }, account.refunds);
    metrics.openRefunds.inc({ ...labels, state: 'unknown' }, account.unknown);
    if (!isUnanswered(account, health.now)) continue;
    const key = `${account.processor} ${account.environment}`;
    longest.set(key, Math.max(longest.get(key) ?? 0, age(health, account.since)));
    metrics.unansweredSeconds.set(labels, longest.get(key) ?? 0);
  }
}

function labelsOf({ processor, environment }: ProcessorPlace) {
  return { processor, environment };
}

/** In seconds; 0 without a time. */
function age({ now }: ServiceHealth, since: Date | null): number {
  return since === null ? 0 : Math.max(0, (now.getTime() - since.getTime()) / 1_000);
}
