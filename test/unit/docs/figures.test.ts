import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { confirmedForMs } from '#api/dashboard/http/confirmation.ts';
import { batchLimitBytes } from '#api/operations/refund-batches.ts';
import { maxRows } from '#shared/batches/batch.ts';
import { workerAliveMs } from '#shared/health/heartbeat.ts';
import { maxReplayed as maxRefundsReplayed, replayedDays } from '#shared/insights/replay.ts';
import { gatheringMs, unansweredMinutes } from '#shared/notifications/occasions.ts';
import { maxAgentKeys, maxKeys } from '#shared/organizations/api-keys.ts';
import { maxFourEyesDays } from '#shared/organizations/organization-settings.ts';
import { knownBrowserMs } from '#shared/people/sign-in/known-browsers.ts';
import { sessionLifeMs } from '#shared/people/sign-in/sessions.ts';
import { loadSettings } from '#shared/platform/config.ts';
import { mostFindings } from '#shared/reconciliation/list-runs.ts';
import { maxNoteLength } from '#shared/refunds/decisions/annotate.ts';
import { receivedEventDays } from '#shared/refunds/queries/received-events.ts';
import { refundsOfView } from '#shared/refunds/requests/view-payment.ts';
import { maxReplayed } from '#shared/webhooks/deliveries.ts';
import { maxEndpoints } from '#shared/webhooks/manage-endpoints.ts';
import { attemptTimeoutMs } from '#worker/deliver/transport.ts';

const defaults = loadSettings({});
const whole = (count: number) => count.toLocaleString('en-US');
const seconds = (ms: number) => `${ms / 1_000} s`;
const days = (ms: number) => ms / 86_400_000;
/** Its name and its default, in parentheses. */
const setting = (name: keyof typeof defaults, value: unknown = defaults[name]) => `\`${name}\` (${value})`;
const settingMs = (name: keyof typeof defaults) => setting(name, seconds(Number(defaults[name])));

test.each([
  ['api', `3 s (\`CREATE_WAIT_MS\`)`, defaults.CREATE_WAIT_MS === 3_000],
  ['api', `10 s (\`CANCEL_WAIT_MS\`)`, defaults.CANCEL_WAIT_MS === 10_000],
  ['api', settingMs('MAX_WAIT_MS')],
  ['api', `the newest ${refundsOfView} first`],
  ['api-keys', `at most ${whole(maxKeys)} keys that are neither revoked nor expired`],
  ['api-keys', `at most ${maxAgentKeys} agent keys`],
  ['api-keys', `0 to ${maxFourEyesDays} days`],
  ['batches', `up to ${whole(maxRows)} refunds from one request`],
  ['batches', `up to ${batchLimitBytes / 1024 / 1024} MiB`],
  ['dashboard', `notes of up to ${whole(maxNoteLength)} characters`],
  ['dashboard', `after ${days(sessionLifeMs)} days, and at sign-out`],
  ['dashboard', `its first ${mostFindings}\n  findings`],
  ['dashboard', 'within the last ten minutes', confirmedForMs === 600_000],
  ['failure-modes', settingMs('SHUTDOWN_TIMEOUT_MS')],
  ['failure-modes', `\`PROCESSOR_TIMEOUT_MS\`, ${seconds(defaults.PROCESSOR_TIMEOUT_MS)}`],
  ['failure-modes', setting('WORKER_CONCURRENCY')],
  ['failure-modes', setting('PROCESSOR_ACCOUNT_CONCURRENCY')],
  ['failure-modes', setting('MAX_REQUESTS_IN_PROGRESS')],
  ['failure-modes', setting('MAX_REQUESTS_WAITING')],
  ['failure-modes', setting('MAX_WEBHOOKS_IN_PROGRESS')],
  ['failure-modes', setting('MAX_PAGES_IN_PROGRESS')],
  ['notifications', 'nothing for an account for five minutes', unansweredMinutes === 5],
  ['notifications', 'gathers for a minute', gatheringMs === 60_000],
  ['operations/metrics', `seen in the last ${workerAliveMs / 1_000} seconds`],
  ['policies', `newest ${whole(maxRefundsReplayed)} refunds are evaluated`],
  ['policies', `refunds of the last ${replayedDays} days`],
  ['processor-webhooks', `Rows are deleted after\n${receivedEventDays} days`],
  ['security', `| ${defaults.RATE_LIMIT_PER_SECOND} per second |`],
  ['security', `| ${defaults.ORGANIZATION_RATE_LIMIT_PER_SECOND} per second |`],
  ['security', `| ${defaults.FAILED_KEYS_PER_MINUTE} per minute |`],
  ['security', `each for ${days(knownBrowserMs)} days`],
  ['webhooks', `within ${attemptTimeoutMs / 1_000} seconds`],
  ['webhooks', `at most ${maxEndpoints} each`],
  ['webhooks', `at most ${whole(maxReplayed)} deliveries`],
  ['webhooks', `for ${defaults.WEBHOOK_RETENTION_DAYS} days (\`WEBHOOK_RETENTION_DAYS\`)`],
])('docs/%s.md says, as the code has it: %s', (page, text, isSo = true) => {
  expect(readFileSync(new URL(`../../../docs/${page}.md`, import.meta.url), 'utf8')).toContain(text);
  expect(isSo).toBe(true);
});
