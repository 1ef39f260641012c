import { expect, test } from 'vitest';
import { setPolicies } from '#shared/policies/stored-policies.ts';
import { signInMember } from '../../support/dashboard/dashboard-member.ts';
import { useDelayedCommits } from '../../support/faults/commit-delaying-proxy.ts';
import { createdRefund } from '../../support/refunds/flagged-refunds.ts';
import { expectInvariants } from '../../support/refunds/invariants.ts';
import { rowOf } from '../../support/refunds/refund-records.ts';
import { waitFor } from '../../support/wait-for.ts';

const { proxy, service } = useDelayedCommits();

test('says that a change may have been saved when the connection breaks during its commit', async () => {
  const file = { policies: [{ name: 'Ask', priority: 1, approvalAbove: { api: 0 } }] };
  await setPolicies(service.deps, { organizationId: service.organization.id, file, actor: 'test' });
  const { visitor } = await signInMember(service, 'operator');
  const refund = await createdRefund(service, 'stripe');
  expect(refund.status).toBe('pending');
  const page = `/dashboard/${service.organization.id}/test/refunds/${refund.id}`;
  await visitor.get(page);
  proxy.cutNext('COMMIT', 'later');
  const answer = await visitor.post(`${page}/approve`, {});
  expect(answer.status).toBe(503);
  expect(answer.text).toContain('your change may or may not have been saved');
  expect(answer.text).not.toContain('nothing was changed');
  await waitFor(
    'the approval to be committed',
    async () => (await rowOf(service, refund.id)).status === 'processing',
  );
  await expectInvariants(service);
});
