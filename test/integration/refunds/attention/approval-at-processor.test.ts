import { expect, test } from 'vitest';
import { setProcessorAccount } from '#shared/processors/accounts/manage-accounts.ts';
import { sandboxCredentials } from '#test/sandbox/processors.ts';
import { json, useScriptedServers } from '#test/support/processors/scripted-server.ts';
import { advanceRefund } from '#test/support/refunds/advance-refund.ts';
import {
  createdRefund,
  resolve,
  reviewed,
  useServiceThatFlags,
} from '#test/support/refunds/flagged-refunds.ts';
import { rowOf } from '#test/support/refunds/refund-records.ts';
import { askToCancel } from '#test/support/refunds/refund-work.ts';

const service = useServiceThatFlags();
const serve = useScriptedServers();

/** Stripe with a rule that holds refunds for a reviewer; `approve` is what the reviewer does. */
async function withApprovalRule(statusCode: number) {
  const held: (() => Promise<unknown>)[] = [];
  const server = await serve(async ({ method, path, headers, body }, response) => {
    const { host: _, 'content-length': _length, connection: _connection, ...kept } = headers;
    const forward = () =>
      fetch(`${service.sandboxUrl}${path}`, {
        method,
        headers: kept as Record<string, string>,
        ...(method === 'POST' ? { body } : {}),
      });
    if (method === 'POST' && path === '/v1/refunds') {
      held.push(forward);
      const message = 'This action requires approval. An approval request was created.';
      const error = { type: 'invalid_request_error', code: 'approval_required', message };
      return json(response, statusCode, { error });
    }
    const answer = await forward();
    json(response, answer.status, await answer.json());
  });
  const key = { organizationId: service.organization.id, environment: 'test', processor: 'stripe' } as const;
  const credentials = { ...sandboxCredentials('test', service.sandboxUrl).stripe, apiBase: server.url };
  await setProcessorAccount(service.deps, { ...key, credentials, actor: 'test' });
  return { held, approve: () => Promise.all(held.map((send) => send())) };
}

test.each([400, 402, 403])(
  'sends a refund once that Stripe holds for a reviewer (%i), however often nothing is found, and completes it when it is approved',
  async (statusCode) => {
    const stripe = await withApprovalRule(statusCode);
    const { id, transactionId } = await createdRefund(service, 'stripe');
    await advanceRefund(service.deps, id);
    expect(await rowOf(service, id)).toMatchObject({
      ...{ status: 'processing', flagReason: 'approval_at_processor' },
      attempts: [{ number: 1, outcome: 'unknown' }],
    });
    for (let lookups = 0; lookups < 3; lookups += 1) await reviewed(service, id);
    await askToCancel(service, await rowOf(service, id));
    await advanceRefund(service.deps, id);
    expect(await rowOf(service, id)).toMatchObject({ status: 'processing', externalRefundId: null });
    expect(stripe.held).toHaveLength(1);
    expect(await resolve(service, await rowOf(service, id), 'failed')).toMatchObject({
      ...{ kind: 'contradicted', forceable: true },
      evidence: expect.stringContaining('awaits approval at the processor'),
    });

    await stripe.approve();
    expect(await reviewed(service, id)).toMatchObject({ externalRefundId: expect.stringMatching(/^re_/) });
    const moved = await service.sandbox.refunds({ processor: 'stripe', transactionId });
    expect(moved).toMatchObject([{ key: id }]);
    expect(stripe.held).toHaveLength(1);
  },
);
