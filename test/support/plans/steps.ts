import { randomUUID } from 'node:crypto';
import { expect } from 'vitest';
import { views } from '#api/dashboard/pages/refunds/views.tsx';
import { readQueues } from '#shared/health/account-queues.ts';
import { openHealthReads, readHealth } from '#shared/health/read-health.ts';
import { renderMetrics } from '#shared/health/serve-metrics.ts';
import { countNeedingAttention, readNeedsAttention } from '#shared/insights/needs-attention.ts';
import { readOverview } from '#shared/insights/overview.ts';
import { replayPolicies } from '#shared/insights/replay.ts';
import { kindsByRole, kindsOfChannel } from '#shared/notifications/kinds.ts';
import { noteOccasions, readOccasions } from '#shared/notifications/occasions.ts';
import { claimNotifications, endMessage, retryMessage } from '#shared/notifications/outbox.ts';
import {
  failedRequestValues,
  findFailedRequests,
  storeFailedRequest,
} from '#shared/organizations/failed-requests.ts';
import { hashApiKey } from '#shared/organizations/find-api-key.ts';
import { newId, newRequestId } from '#shared/platform/ids.ts';
import { listPolicies, setPolicies } from '#shared/policies/stored-policies.ts';
import { setProcessorAccount } from '#shared/processors/accounts/manage-accounts.ts';
import { noteRateLimit } from '#shared/processors/accounts/rate-limits.ts';
import { findCandidates, sentWithin } from '#shared/reconciliation/our-refunds.ts';
import { readReport } from '#shared/reconciliation/report.ts';
import { recordPayment } from '#shared/refunds/changes/record-payment.ts';
import { approveRefund, rejectRefund } from '#shared/refunds/decisions/approve.ts';
import { findByKey } from '#shared/refunds/lifecycle/create.ts';
import { takenByKeys } from '#shared/refunds/lifecycle/lookups.ts';
import { EventComparisons, receiveWebhook } from '#shared/refunds/lifecycle/processor-events.ts';
import { readRecovery } from '#shared/refunds/lifecycle/recovery.ts';
import { exportRefunds } from '#shared/refunds/queries/export-refunds.ts';
import { findByText } from '#shared/refunds/queries/find-by-text.ts';
import { findReceivedEvents } from '#shared/refunds/queries/received-events.ts';
import type { RefundFilter } from '#shared/refunds/queries/refund-filter.ts';
import { countRefunds, findLargest, searchRefunds } from '#shared/refunds/queries/search-refunds.ts';
import { publishRoots } from '#shared/timeline/publish-roots.ts';
import { countWithoutHash, verifyTimelines } from '#shared/timeline/verify.ts';
import { findDelivery } from '#shared/webhooks/deliveries.ts';
import { replayMissing } from '#shared/webhooks/replay-missing.ts';
import { claimDue, type DeliveryClaim } from '#worker/deliver/claim-deliveries.ts';
import { createDeliveries } from '#worker/deliver/create-deliveries.ts';
import type { WebhookSender } from '#worker/deliver/deliver-webhook.ts';
import { recordAttempts } from '#worker/deliver/record-attempts.ts';
import { readDue } from '#worker/schedule/due.ts';
import { retention } from '#worker/schedule/retention.ts';
import { sandboxCredentials } from '../../sandbox/processors.ts';
import { type SignedWebhook, webhookAbout } from '../processors/signed-webhooks.ts';
import { reportOf } from '../processors/webhooks.ts';
import { advanceOneBatch } from '../refunds/advance-one-batch.ts';
import { advanceRefund } from '../refunds/advance-refund.ts';
import { newPayment } from '../refunds/payments.ts';
import { makeDue, rowOf } from '../refunds/refund-records.ts';
import { refundRequest } from '../refunds/refund-requests.ts';
import type { TestService } from '../service.ts';
import { otherCount } from './full-organization.ts';

/** Refunds, payments, due work and deliveries. */
export const count = 10_000;

/** Something that the service does, and what that may cost. */
export interface Step {
  /** Most rows and pages that it reads, if more than usual. */
  rows?: number;
  pages?: number;
  /** Most statements, BEGIN and COMMIT among them. Those of queues do not count: they would be on Redis as well. */
  statements?: number;
  /** The calls to processors that it makes, and `wake` for each time that it wakes workers. */
  calls?: readonly string[];
  run: Run;
}
type Run = () => Promise<unknown>;

/** A step that may take so many statements. */
const within = (statements: number, calls: readonly string[], run: Run): Step => ({ statements, calls, run });

const listFilters = [
  ...' status=completed status=failed status=pending processor=braintree initiatedBy=mcp reason=other'.split(
    ' ',
  ),
  ...'currency=eur amountMin=5000&amountMax=15000 createdAfter=2026-01-01&createdBefore=2100-01-01'.split(
    ' ',
  ),
  ...'status=failed&amountMin=5000 metadata[channel]=shop transactionId=:payment after=:id'.split(' '),
];

const filters: readonly RefundFilter[] = [
  {},
  { status: ['failed'] },
  { status: ['failed', 'cancelled'] },
  { needsAttention: true },
  { outcomeUnknown: true },
  { requestedBy: `key:${newId('key')}` },
  { requestedBy: `user:${newId('usr')}` },
  { word: 'shop' },
];

const many = { perDay: { count: 10_000 }, perRequesterDay: { count: 10_000 } };
const perRequester = {
  approvalAbovePerRequesterDay: { api: 10_000_000 },
  velocity: { perRequesterDay: many.perRequesterDay },
  enforce: { api: true },
};

/** Every function of the database and the reads of lists, pages and retention, each as the service runs it. */
export function stepsOf(
  service: TestService,
  endpointId: string,
  agentKey: string,
  isAnalyzed: boolean,
): Record<string, Run | Step> {
  const { deps, organization } = service;
  const { db } = deps;
  const owner = { organizationId: organization.id, environment: 'test' } as const;
  let transactionId = '';
  let id = '';
  let key = '';
  let webhook: SignedWebhook;
  let accountId = '';
  const leased: DeliveryClaim[] = [];
  const create = async (more: object = {}, by: { key?: string } = {}) => {
    const body = { transactionId, amount: 1, reason: 'other', ...more };
    const headers = { prefer: 'respond-async', 'idempotency-key': key };
    const answer = await service.call('POST', '/v1/refunds', { body, headers, ...by });
    if (answer.status !== 200) throw new Error(JSON.stringify(answer.body));
    return answer.body.data;
  };
  const get = (url: string) => async () => {
    const { status, body } = await service.call(
      'GET',
      url.replace(':id', id).replace(':payment', transactionId),
    );
    expect(status, `${url} ${JSON.stringify(body)}`).toBe(200);
  };
  const usePolicy = async (policy: object) => {
    const file = { policies: [{ name: 'All', priority: 1, ...policy }] };
    await setPolicies(deps, { organizationId: owner.organizationId, file, actor: 'test' });
  };
  const createNew = async (more: object = {}, by: { key?: string } = {}) => {
    key = randomUUID();
    ({ id } = await create(more, by));
  };
  const createOfNewPayment = async () => {
    transactionId = await newPayment(service, { amount: 100_000 });
    await createNew();
  };
  return {
    'an account that was not used before': createOfNewPayment,
    'all that is left of a payment': within(4, ['wake'], () =>
      createNew({ amount: undefined, remaining: true }),
    ),
    'a payment that is not known': within(4, ['getPayment', 'wake'], createOfNewPayment),
    'a key again': within(4, [], () => create()),
    'a key that is not known': () =>
      findByKey(
        deps,
        refundRequest(service, 'ch_none', {
          idempotency: { key: randomUUID(), fingerprint: Buffer.alloc(32) },
        }),
      ),
    'a payment by its other id': within(4, ['wake'], () =>
      createNew({ transactionId: `pi_${transactionId.slice(3)}` }),
    ),
    'a payment that is known': within(4, ['wake'], createNew),
    'a dry run': () =>
      service.call('POST', '/v1/refunds', {
        body: { transactionId, amount: 1, reason: 'other', dryRun: true },
      }),
    'a refund of an agent': within(4, ['wake'], () => createNew({}, { key: agentKey })),
    'a submission and its outcome': within(3, ['createRefund'], () => advanceRefund(deps, id)),
    'what is about to be reported': async () => {
      await makeDue(service, id);
      // The first call of its kind notes on the account that it works.
      await advanceRefund(deps, id);
      await makeDue(service, id);
      const row = await rowOf(service, id);
      const status = row.processorStatus ?? undefined;
      webhook = webhookAbout('stripe', { ...reportOf(row), processorStatus: status });
      const where = { ...owner, processor: 'stripe' };
      ({ id: accountId } = await db.processorAccount.findFirstOrThrow({ where }));
      // The first webhook that is verified is noted on the account.
      const { headers, body: payload } = webhook;
      const url = `/webhooks/stripe/${accountId}`;
      await service.app.inject({ method: 'POST', url, headers, payload });
    },
    'an answer that limits an operation': () => noteRateLimit(deps, accountId, 'listRefunds', null),
    'a settlement check': within(2, ['getRefund'], () => advanceRefund(deps, id)),
    'a webhook that agrees': within(1, [], async () => {
      const { headers, body: payload } = webhook;
      const url = `/webhooks/stripe/${accountId}`;
      const { statusCode } = await service.app.inject({ method: 'POST', url, headers, payload });
      expect(statusCode).toBe(200);
    }),
    'webhooks at once, also with wrong signatures and to unknown accounts': within(1, [], async () => {
      const events = new EventComparisons(deps, new AbortController().signal);
      const receive = (account: string, end = '') =>
        receiveWebhook(
          { ...deps, events },
          { processor: 'stripe', accountId: account },
          { body: Buffer.from(`${webhook.body}${end}`), headers: webhook.headers },
          0,
        ).then(
          ({ outcome }) => outcome,
          ({ code }) => code,
        );
      const each = Array.from({ length: 30 }, () => [
        receive(accountId),
        receive(accountId, ' '),
        receive(newId('acc')),
      ]);
      const outcomes = new Set(await Promise.all(each.flat()));
      expect(outcomes).toEqual(new Set(['agrees', 'not-verified', 'not_found']));
    }),
    'a refund that the processor settles': async () => {
      const { externalRefundId } = await rowOf(service, id);
      await service.sandbox.driveRefund(externalRefundId ?? '', { status: 'succeeded' });
      await makeDue(service, id);
    },
    'its completion': within(2, ['getRefund'], () => advanceRefund(deps, id)),
    'limits per requester': () => usePolicy(perRequester),
    'a refund under limits per requester': within(5, ['wake'], createNew),
    'more limits': () => usePolicy({ ...perRequester, velocity: { ...many, perTransaction: 1_000 } }),
    // The requester's and the organization's of 24 hours.
    'a refund under more limits': { ...within(7, ['wake'], createNew), rows: 2_000 },
    'a policy check': {
      rows: 2_000,
      run: () => service.call('POST', '/v1/policies/check', { body: { transactionId } }),
    },
    'a payment with its refunds': within(4, [], get('/v1/payments/:payment')),
    'a batch behind a backlog': async () => {
      const rows = [{ transactionId, amount: 1, reason: 'other' }];
      const { body } = await service.call('POST', '/v1/refund-batches', { body: { rows } });
      await advanceOneBatch(deps);
      for (const of of ['', `/${body.data.id}`, `/${body.data.id}/results`])
        await get(`/v1/refund-batches${of}`)();
      // Later ones read nothing for it.
      const where = { id: body.data.id, status: 'processing' };
      await db.refundBatch.updateMany({ where, data: { dueAt: new Date('2100-01-01') } });
    },
    'a batch beside no backlog': async () => {
      const { plaintext: key } = organization.keys.live;
      const paid = await newPayment(service, { environment: 'live' });
      const rows = [{ transactionId: paid, amount: 1, reason: 'other' }];
      await service.call('POST', '/v1/refund-batches', { body: { rows }, key });
      expect(await advanceOneBatch(deps)).toBe(true);
    },
    'a replay': {
      // 100 refunds, those of the day before them, and the others of their payments.
      rows: 2_000,
      pages: 3_000,
      run: async () => {
        const current = await listPolicies(db, owner.organizationId);
        await replayPolicies(deps, owner, { current, proposed: current }, 100);
      },
    },
    'an approval and a rejection': async () => {
      await usePolicy({ approvalAbove: { api: 0 } });
      for (const decide of [approveRefund, rejectRefund]) {
        await createNew();
        const pending = { ...owner, id, processor: 'stripe', transactionId };
        expect((await decide(deps, pending, 'cli:someone', null)).kind).toBe('done');
      }
      await usePolicy({});
    },
    'a cancellation with a key, twice, and with another refund': async () => {
      key = randomUUID();
      const made = await create();
      const headers = { 'idempotency-key': randomUUID() };
      for (const [refund, status] of [
        [made.id, 200],
        [made.id, 200],
        [id, 422],
      ]) {
        expect((await service.call('POST', `/v1/refunds/${refund}/cancel`, { headers })).status).toBe(status);
      }
    },
    'a change of metadata': async () => {
      const body = { metadata: { changed: randomUUID() } };
      expect((await service.call('PATCH', `/v1/refunds/${id}`, { body })).status).toBe(200);
    },
    'an event of a processor': async () => {
      const about = { accountId, type: 'refund.updated' };
      for (const subject of [
        { refundId: id, externalRefundId: `re_${randomUUID()}` },
        { externalRefundId: 're_none', transactionIds: [transactionId] },
        { transactionIds: [transactionId], isChargedBack: true as const },
      ]) {
        await deps.statements.receive({ ...about, ...subject, externalEventId: randomUUID() });
      }
    },
    'payments that are one': {
      // Without statistics, PostgreSQL checks all refunds and names of the account for references to the payment that is deleted. Its
      // query belongs to the same statement, so what the function reads itself has a limit of its own only with statistics.
      ...(isAnalyzed ? {} : { rows: 2 * count, pages: 2 * count }),
      run: async () => {
        const names = [transactionId, randomUUID(), randomUUID()];
        for (const transaction_ids of [[], names]) {
          const asked = {
            account_id: organization.accounts.test.stripe,
            transaction_id: names.at(-1),
            transaction_ids,
          };
          await db.$executeRaw`SELECT join_payments(${JSON.stringify(asked)}::jsonb)`;
        }
      },
    },
    'a payment that is read after it became one': async () => {
      const facts = {
        ...{ transactionIds: [transactionId], amount: 100_000n, currency: 'usd', chargedAt: new Date() },
        ...{ refunds: [], unrefundable: null },
        ...{ hasTransfer: false, transferDestination: null, applicationFee: false },
      };
      const of = { accountId: organization.accounts.test.stripe, transactionId };
      expect((await recordPayment(db, of, facts, new Date())).amount).toBe(100_000n);
    },
    'the roots of all days': {
      rows: 12 * count,
      pages: 24 * count,
      run: () => publishRoots(deps, new AbortController().signal),
    },
    'a proof of all timelines': {
      rows: 24 * count,
      pages: 48 * count,
      run: async () => {
        await verifyTimelines(db, { organizationId: null, since: null }, () => {});
        await countWithoutHash(db, null);
      },
    },
    'the position of the feed': () => readRecovery(db, []),
    'a look for everything that is due': within(1, [], () => readDue(db)),
    'a refund': within(2, [], get('/v1/refunds/:id?include=failure,cancellable,arrival,heldUntil,waiting')),
    'its events': within(2, [], get('/v1/refunds/:id/events')),
    'the messages about refunds': within(3, [], get('/v1/refunds?include=message')),
    'what was decided about refunds': within(3, [], get('/v1/refunds?include=policy,waiting')),
    ...Object.fromEntries(
      listFilters.map((filter) => [
        `a list: ${filter}`,
        {
          // With statistics, every refund with this value may be read.
          ...(filter.startsWith('metadata') ? { rows: 4_000, pages: 2_000 } : {}),
          ...within(2, [], get(`/v1/refunds?${filter}`)),
        },
      ]),
    ),
    'a list of a currency that is new': async () => {
      const yen = { currency: 'jpy' };
      // Two, because a page also looks for the refund after it.
      for (const transactionId of [await newPayment(service, yen), await newPayment(service, yen)]) {
        key = randomUUID();
        await create({ transactionId, currency: 'jpy' });
      }
      await get('/v1/refunds?currency=jpy&limit=1')();
    },
    'the feed': within(2, [], get('/v1/events')),
    'a feed of a rare type': get('/v1/events?type=refund.cancelled'),
    ...Object.fromEntries(
      filters.map((filter) => [
        `a page of the dashboard: ${JSON.stringify(filter)}`,
        {
          rows: 3_000,
          pages: 3_000,
          run: async () => {
            await searchRefunds(db, owner, filter, { cursor: null, limit: 50 });
            await countRefunds(db, owner, [filter], 100);
          },
        },
      ]),
    ),
    'what keys have used of their daily limits': async () => {
      const { id: keyId } = await db.apiKey.findUniqueOrThrow({ where: { hash: hashApiKey(agentKey) } });
      const keys = [keyId, newId('key')].map((each) => ({ id: each, currency: 'usd' }));
      expect((await takenByKeys(db, keys)).get(keyId)).toBeGreaterThan(0n);
    },
    'the oldest refunds of a page': () =>
      searchRefunds(db, owner, {}, { cursor: null, limit: 50, isOldestFirst: true }),
    'the largest refunds of a list': {
      rows: 3_000,
      pages: 3_000,
      run: () => findLargest(db, owner, { currency: 'usd' }, { among: 100, limit: 50 }),
    },
    'the counts of the views of the list': {
      rows: 3_000,
      pages: 3_000,
      run: () =>
        countRefunds(
          db,
          owner,
          views.map(({ filter }) => filter),
          100,
        ),
    },
    'a refund by each kind of its ids': async () => {
      for (const q of [id, transactionId, 're_none'])
        await searchRefunds(db, owner, { q }, { cursor: null, limit: 50 });
    },
    'an overview': {
      // Of seven days and those before, at the end of a day.
      rows: 3_200,
      pages: 3_000,
      run: () => readOverview(db, owner, { now: endOfYesterday(), days: 7, currency: null }),
    },
    'the state of the service': {
      // Fewer than the service counts, so that reading more of the backlog shows.
      rows: 1_000,
      run: () => readHealth(db, 50),
    },
    'scrapes and probes that come together': {
      // Every refund that is due.
      ...{ rows: 4 * count, pages: 4 * count },
      ...within(1, [], async () => {
        const scraped = { ...deps, health: openHealthReads(db) };
        await Promise.all([renderMetrics(scraped, {}), renderMetrics(scraped, {}), scraped.health()]);
      }),
    },
    'the queues of an environment': { rows: 7_500, pages: 4_000, run: () => readQueues(db, owner) },
    'received events, and one by its id': async () => {
      for (const filter of [{}, { processor: 'stripe' }, { id: 'evt_1' }])
        await findReceivedEvents(db, owner, filter, null, 51);
    },
    'the counts of the navigation': () => countNeedingAttention(db, owner),
    ...Object.fromEntries(
      ['SO-1042', 'order 20150', 'shop', ':payment', ':id', 're_1', '3Qs1050', '$42.10', '19'].map((text) => [
        `a search: ${text}`,
        {
          // Up to 50 of each kind, and the newest 1,000. The index is read for every refund with a word.
          rows: text === 'shop' ? 4_000 : 1_800,
          run: async () => {
            const written = text.replace(':payment', transactionId).replace(':id', id.slice(0, 14));
            await findByText(db, owner, written, 8);
          },
        },
      ]),
    ),
    'what needs attention': { run: () => readNeedsAttention(db, owner) },
    'an export': {
      rows: 4_000,
      pages: 3_000,
      run: async () => {
        const pieces = exportRefunds(db, owner, {});
        for (let piece = 0; piece < 3; piece += 1) await pieces.next();
        await pieces.return();
      },
    },
    // Every refund that was accepted in it.
    'a report': {
      ...{ rows: 2 * count, pages: 4 * count },
      run: () => readReport(db, owner, { from: new Date(Date.now() - 30 * 86_400_000), to: new Date() }),
    },
    'new credentials': {
      // All work of the account.
      rows: count,
      run: async () => {
        const { stripe: credentials } = sandboxCredentials('test', service.sandboxUrl);
        await setProcessorAccount(deps, { ...owner, processor: 'stripe', credentials, actor: 'test' });
      },
    },
    'a comparison with a page of a processor': async () => {
      const account = { ...owner, id: accountId, parentId: null };
      const theirs = {
        refundId: id,
        transactionIds: [transactionId],
        amount: 1n,
        currency: 'usd',
        status: 'completed',
        processorStatus: 'succeeded',
        failure: null,
        createdAt: new Date(),
      };
      await findCandidates(db, account, [
        { ...theirs, id: 're_1' },
        { ...theirs, id: transactionId },
      ] as never);
    },
    'what a processor should have': async () => {
      const window = { from: new Date(Date.now() - 3_600_000), to: new Date() };
      for await (const _batch of sentWithin(db, { ...owner, id: accountId, parentId: null }, window));
    },
    'deliveries of new events': async () => {
      await createNew();
      const startUpTo: WebhookSender['startUpTo'] = async (claim) =>
        void leased.push(...(await claim(5)).flat());
      await createDeliveries(deps, { startUpTo }, new AbortController().signal);
      expect(leased).not.toEqual([]);
    },
    'due deliveries': async () => {
      const due = await claimDue(db, null, 500);
      expect(due).not.toEqual([]);
      leased.push(...due);
    },
    'the ends of their attempts': async () => {
      const results = leased.splice(0).map(({ deliveryId, attemptNumber, url }, index) => ({
        ...{ deliveryId, attemptNumber, url, waitedMs: 0, durationMs: 1, isGone: false, responseBody: null },
        ...(index === 0
          ? { responseStatus: null, error: 'timeout' as const, retryInMs: 5_000 }
          : { responseStatus: 200, error: null, retryInMs: null }),
      }));
      expect(await recordAttempts(db, results)).toHaveLength(results.length);
    },
    'events that were not sent': async () => {
      await db.$executeRaw`DELETE FROM webhook_delivery WHERE refund_id = ${id}`;
      const request = { ...owner, endpointId, actor: 'test', since: new Date(Date.now() - 60_000) };
      expect(await replayMissing(deps, request)).toBeGreaterThan(0);
    },
    // New keys and disabled endpoints are looked for among those of all organizations.
    notifications: {
      rows: 4 * otherCount + 600,
      run: async () => {
        await noteOccasions(db, { ...kindsByRole, ...kindsOfChannel });
        const [claimed] = await claimNotifications(db, { to: 'people', most: 20 });
        const wanted = { kind: 'approvals', target: id, since: new Date() } as const;
        await readOccasions(db, [{ ...wanted, target: claimed?.target ?? id }]);
        await retryMessage(db, claimed?.messageId ?? id);
        await endMessage(db, claimed?.messageId ?? id, true);
      },
    },
    'a failed request': within(1, [], async () => {
      const request = { ...owner, id: newRequestId(), apiKeyId: organization.keys.test.id, refundId: id };
      const refusal = { status: 400, code: 'validation_error', message: '', createdAt: new Date() };
      const what = { operation: 'POST /v1/refunds', path: '/v1/refunds', body: '{}' };
      await storeFailedRequest(db, { ...request, ...refusal, ...what });
    }),
    'lists of failed requests': async () => {
      await findFailedRequests(db, owner, { code: 'validation_error' }, null, 50);
      await failedRequestValues(db, owner);
    },
    'lists of deliveries': async () => {
      for (const status of ['', '?status=pending', '?status=failed'])
        await get(`/v1/webhook-endpoints/${endpointId}/deliveries${status}`)();
    },
    'a delivery with its body': async () => {
      const { id: deliveryId } = await db.webhookDelivery.findFirstOrThrow({
        where: { endpointId, refundId: id },
      });
      expect((await findDelivery(db, owner, { endpointId, deliveryId })).body).toHaveProperty('data');
    },
    ...Object.fromEntries(
      Object.entries(retention).map(([name, expire]) => [
        `retention: ${name}`,
        {
          // Endpoint by endpoint, once an hour.
          ...(name === 'expireWebhooks' ? { rows: 2 * otherCount + 600, pages: 4 * otherCount } : {}),
          run: () => expire(deps),
        },
      ]),
    ),
  };
}

/** The end of the last day in UTC, so that an overview reads as much at any time of the day. */
function endOfYesterday(): Date {
  return new Date(new Date().setUTCHours(0, 0, 0, 0) - 1);
}
