import { afterEach, beforeAll, describe, expect, test } from 'vitest';
import { createApiKey } from '#shared/organizations/api-keys.ts';
import type { Refund } from '#shared/platform/database.ts';
import { approveRefund, rejectRefund } from '#shared/refunds/decisions/approve.ts';
import { dismissFlag } from '#shared/refunds/decisions/resolve.ts';
import { createRefund } from '#shared/refunds/lifecycle/create.ts';
import { findOwnRefund } from '#shared/refunds/queries/find-refunds.ts';
import { auditOf } from '../../support/audit-log.ts';
import { newPerson } from '../../support/people.ts';
import { expectInvariants } from '../../support/refunds/invariants.ts';
import { newPayment } from '../../support/refunds/payments.ts';
import { rowOf, untilStatus } from '../../support/refunds/refund-records.ts';
import { refundRequest } from '../../support/refunds/refund-requests.ts';
import { flagByHand } from '../../support/refunds/refund-work.ts';
import { storePolicies } from '../../support/refunds/stored-policies.ts';
import { useService } from '../../support/use-service.ts';

const service = useService();
/** A key that may approve, of a person who requests nothing. */
let approver: { id: string; plaintext: string };

beforeAll(async () => {
  await service.sandbox.settings({ autoSettleMs: 0 });
  await storePolicies(service, { approvalAbove: { api: 0, dashboard: 0, mcp: 0 } });
  approver = await newKey(await newAdmin());
  // The members decide which of them a refusal can name.
  await newPerson(service.deps, service.organization.id, 'operator');
});
afterEach(() => expectInvariants(service));

async function newAdmin(): Promise<string> {
  const { userId } = await newPerson(service.deps, service.organization.id, 'admin');
  return `user:${userId}`;
}

async function newKey(actor: string) {
  const owner = { organizationId: service.organization.id, environment: 'test' } as const;
  return await createApiKey(service.deps, { ...owner, actor, scopes: ['refunds:read', 'refunds:approve'] });
}

/** A refund that awaits approval. */
async function pendingRefund(actor = `key:${service.organization.keys.test.id}`): Promise<Refund> {
  const isKey = actor.startsWith('key:');
  const asker = {
    apiKey: isKey ? { id: actor.slice('key:'.length), agentLimits: null } : null,
    initiatedBy: isKey ? 'api' : 'dashboard',
    actor,
  } as const;
  const { refund } = await createRefund(
    service.deps,
    refundRequest(service, await newPayment(service), asker),
  );
  expect(refund.status).toBe('pending');
  return refund;
}

const decide = async (
  decision: string,
  { id }: Pick<Refund, 'id'>,
  body?: object,
  key = approver.plaintext,
) =>
  await service.call('POST', `/v1/refunds/${id}/${decision}`, {
    key,
    ...(body === undefined ? {} : { body }),
  });

const movedFor = async ({ transactionId }: Refund) =>
  (await service.sandbox.refunds({ transactionId })).length;

describe('approving with a key', () => {
  test('sends the refund, which then completes, and is in the timeline and the audit log', async () => {
    const refund = await pendingRefund();
    const { status, body } = await decide('approve', refund);
    expect(status, JSON.stringify(body)).toBe(200);
    expect(Object.keys(body.data)).toHaveLength(13);
    expect(body.data).toMatchObject({ id: refund.id, status: 'processing', amount: 1_000 });
    await untilStatus(service, refund.id, 'completed');
    expect(await movedFor(refund)).toBe(1);
    const actor = `key:${approver.id}`;
    const events = await service.deps.db.refundEvent.findMany({ where: { refundId: refund.id, actor } });
    expect(events).toMatchObject([{ type: 'refund.processing', previousStatus: 'pending' }]);
    expect(await auditOf(service, refund.id)).toMatchObject([{ action: 'refund.approved', actor }]);
  });

  test('rejecting cancels it, gives its amount back and keeps the reason', async () => {
    const refund = await pendingRefund();
    const { status, body } = await decide('reject', refund, { reason: ' An exchange ' });
    expect([status, body.data.status]).toEqual([200, 'cancelled']);
    const { transactionId } = refund;
    expect(
      await service.deps.db.payment.findFirst({ where: { names: { some: { name: transactionId } } } }),
    ).toMatchObject({ reserved: 0n });
    const detail = { approved: false, reason: 'An exchange', sent: false };
    const actor = `key:${approver.id}`;
    expect(await auditOf(service, refund.id)).toMatchObject([{ action: 'refund.rejected', actor, detail }]);
    expect(await movedFor(refund)).toBe(0);
  });

  test('a refund with another one under its name is approved only once that flag is dismissed', async () => {
    const refund = await pendingRefund();
    await flagByHand(service, refund.id, { reason: 'extra_refund', facts: { externalRefundId: 're_other' } });
    const refused = await decide('approve', refund);
    expect([refused.status, refused.body.error.code]).toEqual([409, 'refund_flagged']);
    expect((await approveRefund(service.deps, refund, 'user:usr_other')).kind).toBe('flagged');
    expect((await rowOf(service, refund.id)).status).toBe('pending');
    expect(await auditOf(service, refund.id)).toEqual([]);
    const flagged = await findOwnRefund(service.deps.db, refund, refund.id);
    await dismissFlag(service.deps, flagged, 'user:usr_other', 'Not ours');
    expect((await decide('approve', refund)).status).toBe(200);
    await untilStatus(service, refund.id, 'completed');
  });
});

test.each([
  ['a person', 'the person', 0, 0],
  ["a person's key", "a key of the person's key", 1, 2],
  ["a key of a person's key", 'the person', 2, 0],
])(
  'what %s requested is not approved by %s, who can reject it',
  async (_requester, _by, asking, approving) => {
    const person = { actor: await newAdmin(), plaintext: null as string | null };
    /** The person; a key of theirs; a key that such a key created. */
    const principal = async (keys: number): Promise<typeof person> => {
      if (keys === 0) return person;
      const { id, plaintext } = await newKey((await principal(keys - 1)).actor);
      return { actor: `key:${id}`, plaintext };
    };
    const refund = await pendingRefund((await principal(asking)).actor);
    const { actor, plaintext } = await principal(approving);
    await expect(approveRefund(service.deps, refund, actor)).rejects.toMatchObject({
      code: 'insufficient_scope',
    });
    if (plaintext !== null) {
      const answer = await decide('approve', refund, undefined, plaintext);
      expect([answer.status, answer.body.error.code]).toEqual([403, 'insufficient_scope']);
      expect(answer.body.error.message).toContain('someone else must approve it');
    }
    expect(await rowOf(service, refund.id)).toMatchObject({ status: 'pending' });
    const audited = await auditOf(service, refund.id);
    expect(audited.map(({ action }) => action)).not.toContain('refund.approved');
    expect((await rejectRefund(service.deps, refund, actor, null)).kind).toBe('done');
    // It does not await approval any more, so it does not matter who asks.
    expect((await approveRefund(service.deps, refund, actor)).kind).toBe('not-pending');
  },
);

describe('of decisions at once, one is done and the others change nothing:', () => {
  test.each([
    ['approve', 'approve', 'approve'],
    ['approve', 'reject'],
    ['approve', 'approve', 'reject', 'reject'],
  ])('%s', async (...decisions) => {
    for (let round = 0; round < 2; round += 1) {
      const refund = await pendingRefund();
      const answers = await Promise.all(decisions.map((decision) => decide(decision, refund)));
      const done = answers.filter(({ status }) => status === 200);
      expect(done).toHaveLength(1);
      for (const { status, body } of answers) {
        if (status !== 200) expect([status, body.error.code]).toEqual([409, 'refund_not_pending']);
      }
      expect(await auditOf(service, refund.id)).toHaveLength(1);
      const isApproved = done[0]?.body.data.status === 'processing';
      await untilStatus(service, refund.id, isApproved ? 'completed' : 'cancelled');
      expect(await movedFor(refund)).toBe(isApproved ? 1 : 0);
    }
  });

  test('approve and cancel: the money of a refund that is cancelled never moves', async () => {
    const { plaintext } = service.organization.keys.test;
    for (let round = 0; round < 5; round += 1) {
      const refund = await pendingRefund();
      const [approved, cancelled] = await Promise.all([
        decide('approve', refund),
        decide('cancel', refund, undefined, plaintext),
      ]);
      // A refund that was approved first may still be cancelled before it is sent.
      if (approved.status === 409) expect(cancelled.status).toBe(200);
      if (cancelled.status === 409) expect(approved.status).toBe(200);
      await untilStatus(service, refund.id, cancelled.status === 200 ? 'cancelled' : 'completed');
      expect(await movedFor(refund)).toBe(cancelled.status === 200 ? 0 : 1);
    }
  });
});
