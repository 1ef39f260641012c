import { afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import type { Refund } from '../../../../shared/platform/database.ts';
import { auditOf } from '../../../support/audit-log.ts';
import { type DashboardMember, signInMember } from '../../../support/dashboard/dashboard-member.ts';
import {
  completedRefund,
  flagAtOnce,
  flaggedUnknown,
  reviewed,
} from '../../../support/refunds/flagged-refunds.ts';
import { expectInvariants } from '../../../support/refunds/invariants.ts';
import { lastEventOf, rowOf } from '../../../support/refunds/refund-records.ts';
import { flagByHand } from '../../../support/refunds/refund-work.ts';
import { useService } from '../../../support/use-service.ts';

// No worker runs but where a test is one.
const service = useService({ workers: 0, settings: { ...flagAtOnce, CANCEL_WAIT_MS: 5_000 } });
let person: DashboardMember;

beforeAll(async () => {
  person = await signInMember(service, 'operator');
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

/** The buttons that open a dialog, by the dialog's id. */
const offered = (text: string) =>
  [...text.matchAll(/commandfor="(\w+)"(?! command="close")/g)].map(([, id]) => id);

describe('a flagged refund', () => {
  afterEach(() => expectInvariants(service));

  test('is resolved with a reason', async () => {
    const refund = await flaggedUnknown(service, 'stripe', 'reset');
    const page = await person.visitor.get(pageOf(refund));
    expect(offered(page.text)).toEqual(expect.arrayContaining(['recheck', 'resolve']));
    expect(page.text).not.toMatch(/value="dismiss"/);
    const answer = await decide(refund, 'resolve', { end: 'failed', resolveReason: 'Case 4711' });
    expect(answer.headers.location).toBe(`${pageOf(refund)}?done=resolved`);
    expect(await rowOf(service, refund.id)).toMatchObject({ status: 'failed', flaggedAt: null });
    expect(await auditOf(service, refund.id)).toMatchObject([
      { action: 'refund.resolved', actor: `user:${person.userId}`, detail: { reason: 'Case 4711' } },
    ]);
    const late = await decide(refund, 'resolve', { end: 'cancelled', resolveReason: 'Me too' });
    expect(late.status).toBe(409);
    expect(late.text).toContain('no longer flagged');
  });

  test('is not resolved against the evidence of its processor without force', async () => {
    const refund = await flaggedUnknown(service, 'stripe', 'reset-after-apply');
    expect((await person.visitor.get(pageOf(refund))).text).not.toContain('name="force"');
    const fields = { end: 'failed', resolveReason: 'I know it' };
    const refused = await decide(refund, 'resolve', fields);
    expect(refused.status).toBe(400);
    expect(refused.text).toMatch(/<dialog id="resolve"[^>]* open/);
    expect(refused.text).toContain('Nothing was changed. The processor shows re_');
    expect(refused.text).toMatch(/value="failed"[^>]*checked|checked[^>]*value="failed"/);
    expect(refused.text).toContain('value="I know it"');
    expect(refused.text).toContain('name="force"');
    expect((await rowOf(service, refund.id)).status).toBe('processing');
    const answer = await decide(refund, 'resolve', { ...fields, force: 'yes' });
    expect(answer.status).toBe(303);
    expect(await lastEventOf(service, refund)).toMatchObject({
      detail: { forced: true, reason: 'I know it' },
    });
    // So that the invariants hold.
    const [theirs] = await service.sandbox.refunds({ transactionId: refund.transactionId });
    await service.sandbox.driveRefund(theirs?.id ?? '', { status: 'failed' });
  });

  test.each([
    [{ end: '', resolveReason: 'Yes' }, 'Choose one.'],
    [{ end: 'failed', resolveReason: ' ' }, 'id="resolveReason-problem">Must be 1 to 500'],
    [
      { end: 'completed', resolveReason: 'Yes' },
      'id="processorRefund-problem">Enter the ID of the completed refund',
    ],
    [
      { end: 'failed', resolveReason: 'Yes', processorRefund: 're_1' },
      'id="processorRefund-problem">Allowed only for a completed refund',
    ],
  ])('is not resolved by %j', async (fields, problem) => {
    const refund = await flaggedUnknown(service, 'stripe', 'reset');
    const answer = await decide(refund, 'resolve', fields);
    expect(answer.status).toBe(400);
    expect(answer.text).toContain(problem);
    expect((await rowOf(service, refund.id)).status).toBe('processing');
  });

  test('that has ended is rechecked or dismissed, and its page updates meanwhile', async () => {
    const refund = await completedRefund(service, 'stripe');
    await flagByHand(service, refund.id);
    const checked = await decide(refund, 'recheck');
    expect(checked.headers.location).toBe(`${pageOf(refund)}?done=rechecked`);
    expect((await rowOf(service, refund.id)).resyncRequestedAt).not.toBeNull();
    const polls = 'hx-trigger="every 2s"';
    expect((await person.visitor.get(pageOf(refund))).text).toContain(polls);
    const dismissed = await decide(refund, 'resolve', { end: 'dismiss', resolveReason: 'Fine' });
    expect(dismissed.headers.location).toBe(`${pageOf(refund)}?done=dismissed`);
    expect(await lastEventOf(service, refund)).toMatchObject({
      type: 'flag.dismissed',
      actor: `user:${person.userId}`,
    });
    expect((await auditOf(service, refund.id)).map(({ action }) => action)).toEqual([
      'refund.rechecked',
      'refund.flag_dismissed',
    ]);
    expect((await reviewed(service, refund.id)).flaggedAt).toBeNull();
    expect((await person.visitor.get(pageOf(refund))).text).not.toContain(polls);
  });
});

test('a decision about a flag that has changed since the page was loaded is refused', async () => {
  const refund = await completedRefund(service, 'stripe');
  const { flaggedAt } = await flagByHand(service, refund.id);
  const later = new Date((flaggedAt?.getTime() ?? 0) + 1_000);
  await person.visitor.get(pageOf(refund));
  await service.deps.db.refundWork.update({ where: { refundId: refund.id }, data: { flaggedAt: later } });
  const fields = { end: 'dismiss', resolveReason: 'Fine', flaggedAt: flaggedAt?.toISOString() ?? '' };
  const answer = await person.visitor.post(`${pageOf(refund)}/resolve`, fields);
  expect(answer.status).toBe(409);
  expect(answer.text).toContain('The flag has changed since you opened this page.');
  expect((await rowOf(service, refund.id)).flaggedAt).toEqual(later);
});
