import { afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import type { Refund } from '../../../../shared/platform/database.ts';
import { setPolicies } from '../../../../shared/policies/stored-policies.ts';
import { createRefund } from '../../../../shared/refunds/lifecycle/create.ts';
import { auditOf } from '../../../support/audit-log.ts';
import { type DashboardMember, signInMember } from '../../../support/dashboard/dashboard-member.ts';
import { advanceRefund } from '../../../support/refunds/advance-refund.ts';
import { completedRefund, createdRefund, flagAtOnce } from '../../../support/refunds/flagged-refunds.ts';
import { expectInvariants } from '../../../support/refunds/invariants.ts';
import { newPayment } from '../../../support/refunds/payments.ts';
import { lastEventOf, rowOf, timelineOf, unknownRefundId } from '../../../support/refunds/refund-records.ts';
import { refundRequest } from '../../../support/refunds/refund-requests.ts';
import { flagByHand } from '../../../support/refunds/refund-work.ts';
import { useService } from '../../../support/use-service.ts';
import { waitFor } from '../../../support/wait-for.ts';

// No worker runs but where a test is one.
const service = useService({ workers: 0, settings: { ...flagAtOnce, CANCEL_WAIT_MS: 5_000 } });
let person: DashboardMember;
let viewer: DashboardMember;

beforeAll(async () => {
  [person, viewer] = [await signInMember(service, 'operator'), await signInMember(service, 'viewer')];
  const file = { policies: [{ name: 'Ask', priority: 1, approvalAbove: { api: 5_000, dashboard: 0 } }] };
  await setPolicies(service.deps, { organizationId: service.organization.id, file, actor: 'test' });
});
beforeEach(() => service.sandbox.settings({ autoSettleMs: null, latencyMs: 0 }));
afterEach(() => service.sandbox.clearFaults());

const pageOf = ({ id }: { id: string }, environment = 'test') =>
  `/dashboard/${service.organization.id}/${environment}/refunds/${id}`;

/** Posts a decision about a refund whose page was opened before. */
async function decide(refund: Refund, decision: string, fields = {}, by: DashboardMember = person) {
  const { text } = await by.visitor.get(pageOf(refund));
  const [, flaggedAt = ''] = /name="flaggedAt" value="([^"]*)"/.exec(text) ?? [];
  return await by.visitor.post(`${pageOf(refund)}/${decision}`, { flaggedAt, ...fields });
}

test('shows which policy requires approval', async () => {
  const { text } = await person.visitor.get(pageOf(await pendingRefund()));
  expect(text).toMatch(/Policy:<\/span> Ask</);
});

async function pendingRefund(): Promise<Refund> {
  const refund = await createdRefund(service, 'stripe', { amount: 6_000 });
  expect(refund.status).toBe('pending');
  return refund;
}

/** One that awaits approval and was requested by a person in the dashboard. */
async function requestedBy({ userId }: DashboardMember): Promise<Refund> {
  const asker = { apiKey: null, initiatedBy: 'dashboard', actor: `user:${userId}` } as const;
  const { refund } = await createRefund(
    service.deps,
    refundRequest(service, await newPayment(service), asker),
  );
  return refund;
}

/** The buttons that open a dialog, by the dialog's id. */
const offered = (text: string) =>
  [...text.matchAll(/commandfor="(\w+)"(?! command="close")/g)].map(([, id]) => id);

describe('a refund that awaits approval', () => {
  afterEach(() => expectInvariants(service));

  test('is approved, and then sent', async () => {
    const refund = await pendingRefund();
    const page = await person.visitor.get(pageOf(refund));
    expect(new Set(offered(page.text))).toEqual(new Set(['approve', 'reject']));
    const answer = await decide(refund, 'approve');
    expect(answer).toMatchObject({ status: 303, headers: { location: `${pageOf(refund)}?done=approved` } });
    expect((await person.visitor.get(`${pageOf(refund)}?done=approved`)).text).toContain(
      'Refund approved. It is being sent.',
    );
    expect((await rowOf(service, refund.id)).status).toBe('processing');
    expect(await lastEventOf(service, refund)).toMatchObject({
      type: 'refund.processing',
      actor: `user:${person.userId}`,
    });
    expect(await auditOf(service, refund.id)).toMatchObject([
      { action: 'refund.approved', actor: `user:${person.userId}` },
    ]);
    expect((await viewer.visitor.get(pageOf(refund))).text).toContain(person.email);
  });

  test('is rejected with a reason, which the timeline shows as text', async () => {
    const refund = await pendingRefund();
    const rejectReason = '<b>An exchange</b>';
    const answer = await decide(refund, 'reject', { rejectReason });
    expect(answer.headers.location).toBe(`${pageOf(refund)}?done=rejected`);
    expect((await rowOf(service, refund.id)).status).toBe('cancelled');
    expect(await auditOf(service, refund.id)).toMatchObject([
      { action: 'refund.rejected', actor: `user:${person.userId}`, detail: { reason: rejectReason } },
    ]);
    const { text } = await viewer.visitor.get(pageOf(refund));
    expect(text).toContain('&lt;b>An exchange&lt;/b>');
    expect(text).not.toContain('<b>An exchange');
  });

  test.each([
    ['missing', ''],
    ['not printable', 'a\nb'],
    ['too long', 'x'.repeat(501)],
  ])('is not rejected for a reason that is %s; the dialog stays open', async (_, rejectReason) => {
    const refund = await pendingRefund();
    const answer = await decide(refund, 'reject', { rejectReason });
    expect(answer.status).toBe(400);
    expect(answer.text).toMatch(/<dialog id="reject"[^>]* open/);
    expect(answer.text).toMatch(/id="rejectReason-problem">Must be 1 to 500 printable characters/);
    expect((await rowOf(service, refund.id)).status).toBe('pending');
  });

  test('is approved by another person than the one who requested it, who may reject it', async () => {
    const other = await signInMember(service, 'operator');
    const refund = await requestedBy(person);
    const own = await person.visitor.get(pageOf(refund));
    expect(new Set(offered(own.text))).toEqual(new Set(['reject']));
    expect(own.text).toContain('You requested this refund. Ask another member to approve it.');
    const refused = await decide(refund, 'approve');
    expect(refused.status).toBe(403);
    expect(refused.text).toContain('Ask another member to approve it. You can reject it.');
    expect((await rowOf(service, refund.id)).status).toBe('pending');
    expect(await auditOf(service, refund.id)).toMatchObject([{ action: 'refund.created' }]);
    expect(offered((await other.visitor.get(pageOf(refund))).text)).toContain('approve');
    expect((await decide(refund, 'approve', {}, other)).status).toBe(303);
    const second = await requestedBy(person);
    expect((await decide(second, 'reject', { rejectReason: 'A mistake of mine' })).status).toBe(303);
    expect((await rowOf(service, second.id)).status).toBe('cancelled');
  });

  test('is not approved while it is flagged for another refund under its name', async () => {
    const refund = await pendingRefund();
    await flagByHand(service, refund.id, { reason: 'extra_refund', facts: { externalRefundId: 're_other' } });
    const page = await person.visitor.get(pageOf(refund));
    expect(new Set(offered(page.text))).toEqual(new Set(['reject', 'resolve']));
    expect(page.text).toContain('Resolve the flag before you approve this refund.');
    const refused = await decide(refund, 'approve');
    expect(refused.status).toBe(409);
    expect(refused.text).toContain('The refund is flagged.');
    expect((await rowOf(service, refund.id)).status).toBe('pending');
    expect((await decide(refund, 'resolve', { end: 'dismiss', resolveReason: 'Not ours' })).status).toBe(303);
    expect((await decide(refund, 'approve')).status).toBe(303);
  });

  test('is decided once when several people click at the same time', async () => {
    const refund = await pendingRefund();
    await person.visitor.get(pageOf(refund));
    const other = await signInMember(service, 'admin');
    await other.visitor.get(pageOf(refund));
    const answers = await Promise.all([
      person.visitor.post(`${pageOf(refund)}/approve`),
      person.visitor.post(`${pageOf(refund)}/approve`),
      other.visitor.post(`${pageOf(refund)}/reject`, { rejectReason: 'No' }),
    ]);
    expect(answers.map(({ status }) => status).toSorted()).toEqual([303, 409, 409]);
    const late = answers.find(({ status }) => status === 409);
    expect(late?.text).toContain('Nothing was changed.');
    expect(late?.text).toContain('no longer awaiting approval');
    expect(await auditOf(service, refund.id)).toHaveLength(1);
  });
});

describe('cancelling', () => {
  afterEach(() => expectInvariants(service));

  test('is done at once for a refund that was never sent', async () => {
    const refund = await createdRefund(service, 'stripe');
    const answer = await decide(refund, 'cancel');
    expect(answer.headers.location).toBe(`${pageOf(refund)}?done=cancelled`);
    expect((await rowOf(service, refund.id)).status).toBe('cancelled');
    expect(await auditOf(service, refund.id)).toMatchObject([
      { action: 'refund.cancel_requested', actor: `user:${person.userId}` },
    ]);
    expect(await lastEventOf(service, refund)).toMatchObject({ actor: `user:${person.userId}` });
    const late = await decide(refund, 'cancel');
    expect(late.status).toBe(409);
    expect(late.text).toContain('The refund is already cancelled.');
    expect(await auditOf(service, refund.id)).toHaveLength(1);
  });

  test('waits for the confirmation of a processor that has it', async () => {
    const refund = await createdRefund(service, 'braintree', {
      transactionId: await newPayment(service, { processor: 'braintree', status: 'settled' }),
    });
    await advanceRefund(service.deps, refund.id);
    const page = await person.visitor.get(pageOf(refund));
    expect(offered(page.text)).toContain('cancel');
    const answering = person.visitor.post(`${pageOf(refund)}/cancel`);
    await waitFor('the request', async () => (await rowOf(service, refund.id)).cancelRequestedAt);
    await advanceRefund(service.deps, refund.id);
    expect((await answering).headers.location).toBe(`${pageOf(refund)}?done=cancelled`);
    expect((await rowOf(service, refund.id)).status).toBe('cancelled');
  });

  test('is not offered where the processor refuses it, and says so when requested all the same', async () => {
    const refund = await createdRefund(service, 'stripe');
    await advanceRefund(service.deps, refund.id);
    expect((await rowOf(service, refund.id)).externalRefundId).not.toBeNull();
    expect(offered((await person.visitor.get(pageOf(refund))).text)).toEqual([]);
    const answering = person.visitor.post(`${pageOf(refund)}/cancel`);
    await waitFor('the request', async () => (await rowOf(service, refund.id)).cancelRequestedAt);
    await advanceRefund(service.deps, refund.id);
    const answer = await answering;
    expect(answer.status).toBe(409);
    expect(answer.text).toContain('The processor refused the cancellation.');
    expect(await timelineOf(service, refund.id)).toContain('cancel.refused');
  });

  test('is not offered for a refund that has ended', async () => {
    const refund = await completedRefund(service, 'stripe');
    expect(offered((await person.visitor.get(pageOf(refund))).text)).toEqual([]);
    const answer = await decide(refund, 'cancel');
    expect(answer.status).toBe(409);
    expect(answer.text).toContain('The refund is completed and can no longer be cancelled.');
  });
});

describe('a decision without permission', () => {
  const all = ['approve', 'reject', 'cancel', 'recheck', 'resolve'];

  test.each(all)('is refused by role, token, organization and environment: %s', async (decision) => {
    const refund = await pendingRefund();
    const url = `${pageOf(refund)}/${decision}`;
    const fields = { rejectReason: 'No', end: 'dismiss', resolveReason: 'No' };
    expect((await decide(refund, decision, fields, viewer)).status).toBe(403);
    for (const csrfToken of [null, 'wrong']) {
      expect((await person.visitor.post(url, fields, { csrfToken })).status).toBe(403);
    }
    await person.visitor.get(pageOf(refund));
    expect((await person.visitor.post(`${pageOf(refund, 'live')}/${decision}`, fields)).status).toBe(404);
    expect((await person.visitor.post(url.replace(refund.id, unknownRefundId), fields)).status).toBe(404);
    const { id: organizationId } = await service.addOrganization('Others');
    const outsider = await signInMember(service, 'owner', organizationId);
    await outsider.visitor.get(`/dashboard/${organizationId}/test/refunds`);
    for (const path of [url, url.replace(service.organization.id, organizationId)]) {
      expect((await outsider.visitor.post(path, fields)).status).toBe(404);
    }
    expect(await rowOf(service, refund.id)).toEqual(refund);
    expect(await auditOf(service, refund.id)).toEqual([]);
  });

  test('is not offered', async () => {
    const refund = await pendingRefund();
    const { text } = await viewer.visitor.get(pageOf(refund));
    expect(text).toContain('Awaiting approval.');
    expect(offered(text)).toEqual([]);
  });
});
