import { afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import type { Refund } from '#shared/platform/database.ts';
import { addNote } from '#shared/refunds/decisions/annotate.ts';
import { eraseRefunds } from '#shared/refunds/decisions/erase.ts';
import { createRefund } from '#shared/refunds/lifecycle/create.ts';
import { auditOf } from '#test/support/audit-log.ts';
import { type DashboardMember, signInMember } from '#test/support/dashboard/dashboard-member.ts';
import { newCanary } from '#test/support/http/canaries.ts';
import { advanceRefund } from '#test/support/refunds/advance-refund.ts';
import {
  completedRefund,
  createdRefund,
  flagAtOnce,
  flaggedUnknown,
} from '#test/support/refunds/flagged-refunds.ts';
import { newPayment } from '#test/support/refunds/payments.ts';
import { lastEventOf, rowOf, unknownRefundId } from '#test/support/refunds/refund-records.ts';
import { refundRequest } from '#test/support/refunds/refund-requests.ts';
import { flagByHand } from '#test/support/refunds/refund-work.ts';
import { storePolicies } from '#test/support/refunds/stored-policies.ts';
import { useService } from '#test/support/use-service.ts';
import { waitFor } from '#test/support/wait-for.ts';

// No worker runs but where a test is one.
const service = useService({ workers: 0, settings: { ...flagAtOnce, CANCEL_WAIT_MS: 5_000 } });
let person: DashboardMember;
let viewer: DashboardMember;

beforeAll(async () => {
  [person, viewer] = [await signInMember(service, 'operator'), await signInMember(service, 'viewer')];
  await storePolicies(service, { name: 'Ask', approvalAbove: { api: 5_000, dashboard: 0 } });
});
beforeEach(() => service.sandbox.settings({ autoSettleMs: null, latencyMs: 0 }));
afterEach(() => service.sandbox.clearFaults());

const pageOf = ({ id }: { id: string }, environment = 'test') =>
  `/dashboard/${service.organization.id}/${environment}/refunds/${id}`;
const textOf = async (refund: Refund, { visitor } = person) => (await visitor.get(pageOf(refund))).text;

/** Posts a decision about a refund whose page was opened before. */
async function decide(refund: Refund, decision: string, fields = {}) {
  const [, flaggedAt = ''] = /name="flaggedAt" value="([^"]*)"/.exec(await textOf(refund)) ?? [];
  return await person.visitor.post(`${pageOf(refund)}/${decision}`, { flaggedAt, ...fields });
}

async function expectDone(refund: Refund, decision: string, fields: object, word: string): Promise<void> {
  const { status, headers, done } = await decide(refund, decision, fields);
  expect([status, headers.location, done]).toEqual([303, pageOf(refund), word]);
}

async function expectConflict(refund: Refund, decision: string, fields: object, words: string) {
  const { status, text } = await decide(refund, decision, fields);
  expect(status).toBe(409);
  expect(text).toContain(words);
}

async function pendingRefund(): Promise<Refund> {
  const refund = await createdRefund(service, 'stripe', { amount: 6_000 });
  expect(refund.status).toBe('pending');
  return refund;
}

/** The buttons that open a dialog, by the dialog's id; operators always have that of a note. */
const offered = (text: string) =>
  new Set([...text.matchAll(/commandfor="(?!search|note)(\w+)"(?! command="close")/g)].map(([, id]) => id));

const byPerson = () => ({ actor: `user:${person.userId}` });

describe('a refund that awaits approval', () => {
  test('is approved, and then sent', async () => {
    const refund = await pendingRefund();
    const text = await textOf(refund);
    expect(offered(text)).toEqual(new Set(['approve', 'reject']));
    expect(text).toMatch(/Policy:<\/span> <bdi>Ask</);
    expect(text).toContain('With this one they come to 60.00 USD.');
    await expectDone(refund, 'approve', {}, 'approved');
    expect(await textOf(refund)).toContain('Refund approved. It is being sent.');
    expect(await lastEventOf(service, refund)).toMatchObject({ type: 'refund.processing', ...byPerson() });
    expect(await textOf(refund, viewer)).toContain(person.email);
    await expectConflict(refund, 'approve', {}, 'no longer awaiting approval');
  });

  test('is only rejected by the one who requested it, and the page says why', async () => {
    const asker = { apiKey: null, initiatedBy: 'dashboard', ...byPerson() } as const;
    const request = refundRequest(service, await newPayment(service), asker);
    const { refund } = await createRefund(service.deps, request);
    const text = await textOf(refund);
    expect(offered(text)).toEqual(new Set(['reject']));
    expect(text).toContain('You requested this refund, and no other member can approve it.');
    const refused = await decide(refund, 'approve');
    expect(refused.status).toBe(403);
    expect(refused.text).toContain('You requested this refund, and no other member can approve it.');
  });

  test('is not approved while it is flagged for another refund under its name', async () => {
    const refund = await pendingRefund();
    await flagByHand(service, refund.id, { reason: 'extra_refund', facts: { externalRefundId: 're_other' } });
    const text = await textOf(refund);
    expect(offered(text)).toEqual(new Set(['reject', 'resolve']));
    expect(text).toContain('Resolve the flag before you approve this refund.');
    await expectConflict(refund, 'approve', {}, 'The refund is flagged.');
  });
});

describe('cancelling', () => {
  test('is done at once for a refund that was never sent', async () => {
    const refund = await createdRefund(service, 'stripe');
    await expectDone(refund, 'cancel', {}, 'cancelled');
    expect(await auditOf(service, refund.id)).toMatchObject([
      { action: 'refund.cancel_requested', ...byPerson() },
    ]);
    await expectConflict(refund, 'cancel', {}, 'The refund is already cancelled.');
  });

  test('is not offered where the processor refuses it, and says so when requested all the same', async () => {
    const refund = await createdRefund(service, 'stripe');
    await advanceRefund(service.deps, refund.id);
    expect(offered(await textOf(refund))).toEqual(new Set());
    const answering = person.visitor.post(`${pageOf(refund)}/cancel`);
    await waitFor('the request', async () => (await rowOf(service, refund.id)).cancelRequestedAt);
    await advanceRefund(service.deps, refund.id);
    const { status, text } = await answering;
    expect(status).toBe(409);
    expect(text).toContain('The processor refused the cancellation.');
  });

  test('is not offered for a refund that has ended', async () => {
    const refund = await completedRefund(service, 'stripe');
    expect(offered(await textOf(refund))).toEqual(new Set());
    const words = 'The refund is completed and can no longer be cancelled.';
    await expectConflict(refund, 'cancel', {}, words);
  });
});

describe('a flagged refund', () => {
  test('is resolved with a reason', async () => {
    const refund = await flaggedUnknown(service, 'stripe', 'reset');
    const text = await textOf(refund);
    expect(offered(text)).toEqual(new Set(['cancel', 'resolve']));
    expect(text).toContain(`action="${pageOf(refund)}/recheck"`);
    expect(text).not.toMatch(/value="dismiss"/);
    await expectDone(refund, 'resolve', { end: 'failed', resolveReason: 'Case 4711' }, 'resolved');
    expect(await auditOf(service, refund.id)).toMatchObject([
      { action: 'refund.resolved', ...byPerson(), detail: { as: 'failed', reason: 'Case 4711' } },
    ]);
    const late = { end: 'cancelled', resolveReason: 'Me too' };
    await expectConflict(refund, 'resolve', late, 'no longer flagged');
  });

  test('is not resolved against the evidence of its processor without force', async () => {
    const refund = await flaggedUnknown(service, 'stripe', 'reset-after-apply');
    expect(await textOf(refund)).not.toContain('name="force"');
    const fields = { end: 'failed', resolveReason: 'I know it' };
    const refused = await decide(refund, 'resolve', fields);
    expect(refused.status).toBe(400);
    expect(refused.text).toMatch(/<dialog id="resolve"[^>]* open/);
    expect(refused.text).toContain('Nothing was changed. The processor shows re_');
    expect(refused.text).toMatch(/value="failed"[^>]*checked|checked[^>]*value="failed"/);
    expect(refused.text).toContain('value="I know it"');
    expect(refused.text).toContain('name="force"');
    await expectDone(refund, 'resolve', { ...fields, force: 'yes' }, 'resolved');
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
    const { status, text } = await decide(refund, 'resolve', fields);
    expect(status).toBe(400);
    expect(text).toContain(problem);
  });

  test('that has ended is rechecked or dismissed, and its page updates meanwhile', async () => {
    const refund = await completedRefund(service, 'stripe');
    await flagByHand(service, refund.id);
    await expectDone(refund, 'recheck', {}, 'rechecked');
    const polls = 'hx-trigger="every 2s"';
    expect(await textOf(refund)).toContain(polls);
    await expectDone(refund, 'resolve', { end: 'dismiss', resolveReason: 'Fine' }, 'dismissed');
    expect(await auditOf(service, refund.id)).toMatchObject([
      { action: 'refund.rechecked', ...byPerson() },
      { action: 'refund.flag_dismissed', ...byPerson() },
    ]);
    await advanceRefund(service.deps, refund.id);
    expect(await textOf(refund)).not.toContain(polls);
  });

  test('is not decided about when the flag has changed since the page was loaded', async () => {
    const refund = await completedRefund(service, 'stripe');
    const { flaggedAt } = await flagByHand(service, refund.id);
    const later = new Date((flaggedAt?.getTime() ?? 0) + 1_000);
    await service.deps.db.refundWork.update({ where: { refundId: refund.id }, data: { flaggedAt: later } });
    const shown = { end: 'dismiss', resolveReason: 'Fine', flaggedAt: flaggedAt?.toISOString() ?? '' };
    await expectConflict(refund, 'resolve', shown, 'The flag has changed since you opened this page.');
    expect((await rowOf(service, refund.id)).flaggedAt).toEqual(later);
  });
});

describe('a note', () => {
  const customer = newCanary('a customer');
  const note = `<b>${customer.text}</b>\r\ncalled about 4242 4242 4242 4242`;
  const feed = async () => (await service.call('GET', '/v1/events?limit=100')).body.data;

  test('is shown in the timeline as text, and changes neither the refund nor the feed', async () => {
    const refund = await createdRefund(service, 'stripe');
    const before = await feed();
    await expectDone(refund, 'note', { note }, 'noted');
    const { text } = await viewer.visitor.get(pageOf(refund));
    expect(text).toContain(`&lt;b>${customer.text}&lt;/b>\ncalled about [digits redacted]`);
    expect(text).toContain(person.email);
    expect(await rowOf(service, refund.id)).toEqual(refund);
    expect(await feed()).toEqual(before);
    expect(before).toContainEqual(expect.objectContaining({ type: 'refund.created' }));
    const [audit] = await auditOf(service, refund.id);
    expect(audit).toMatchObject({ action: 'refund.note_added', ...byPerson() });
    expect(JSON.stringify(audit)).not.toContain(customer.text);
  });

  test('is erased with the personal data of its refund, and none is added afterwards', async () => {
    const refund = await createdRefund(service, 'stripe');
    await decide(refund, 'note', { note });
    const erase = { organizationId: refund.organizationId, refundIds: [refund.id], actor: 'cli:ada' };
    await eraseRefunds({ db: service.ownerDb, clock: service.deps.clock }, erase);
    const { status, text } = await decide(refund, 'note', { note: 'Again' });
    expect(status).toBe(400);
    expect(text).toContain('Cannot be added, because the personal data of this refund was erased.');
    expect(text).not.toContain(customer.text);
  });

  test.each([
    ['empty', ' \n'],
    ['too long', 'x'.repeat(1_001)],
    ['not printable', 'a\u0007b'],
  ])('is refused when it is %s', async (_what, refused) => {
    const { status, text } = await decide(await createdRefund(service, 'stripe'), 'note', { note: refused });
    expect(status).toBe(400);
    expect(text).toContain('id="note-problem">Must be 1 to 1000 printable characters.');
  });

  test('is kept, however many are added at once', async () => {
    const refund = await createdRefund(service, 'stripe');
    const notes = Array.from({ length: 8 }, (_, number) => `Note ${number}`);
    await Promise.all(notes.map((text) => addNote(service.deps, refund, 'cli:ada', text)));
    const events = await service.deps.db.refundEvent.findMany({
      where: { refundId: refund.id, type: 'note.added' },
    });
    expect(events.map(({ detail }) => (detail as { message: string }).message).toSorted()).toEqual(notes);
  });
});

test('a refund of another environment and an unknown one are not found', async () => {
  const refund = await pendingRefund();
  for (const path of [pageOf(refund, 'live'), pageOf({ id: unknownRefundId })]) {
    expect((await person.visitor.post(`${path}/reject`, { rejectReason: 'No' })).status).toBe(404);
  }
  expect(await rowOf(service, refund.id)).toEqual(refund);
});

test('no decision is offered to a viewer', async () => {
  const text = await textOf(await pendingRefund(), viewer);
  expect(text).toContain('Awaiting approval by an operator');
  expect(offered(text)).toEqual(new Set());
  expect(text).not.toContain('Add note');
});
