import { expect, test } from 'vitest';
import { readAttention } from '#api/cli/reports/refund-attention.ts';
import { setProcessorAccount } from '#shared/processors/accounts/manage-accounts.ts';
import { sandboxCredentials } from '#test/sandbox/processors.ts';
import { signInMember } from '#test/support/dashboard/dashboard-member.ts';
import { json, useScriptedServers } from '#test/support/processors/scripted-server.ts';
import { advanceRefund } from '#test/support/refunds/advance-refund.ts';
import { createdRefund, useServiceThatFlags } from '#test/support/refunds/flagged-refunds.ts';
import { makeDue, rowOf } from '#test/support/refunds/refund-records.ts';

const service = useServiceThatFlags();
const serve = useScriptedServers();

/** Stripe whose balance is too low until it gets funds. */
async function withLowBalance() {
  const account = { hasFunds: false };
  const { url } = await serve(async ({ method, path, headers, body }, response) => {
    if (method === 'POST' && !account.hasFunds) {
      const message = 'Insufficient funds in your Stripe balance to refund this amount.';
      return json(response, 400, {
        error: { type: 'invalid_request_error', code: 'balance_insufficient', message },
      });
    }
    const { host: _, 'content-length': _length, connection: _connection, ...kept } = headers;
    const answer = await fetch(`${service.sandboxUrl}${path}`, {
      ...{ method, headers: kept as Record<string, string> },
      ...(method === 'POST' ? { body } : {}),
    });
    json(response, answer.status, await answer.json());
  });
  const key = { organizationId: service.organization.id, environment: 'test', processor: 'stripe' } as const;
  const credentials = { ...sandboxCredentials('test', service.sandboxUrl).stripe, apiBase: url };
  await setProcessorAccount(service.deps, { ...key, credentials, actor: 'test' });
  return account;
}

test('refunds that wait for funds are one row of the overview, and go on and are no longer flagged once there are', async () => {
  const account = await withLowBalance();
  const refunds = [await createdRefund(service, 'stripe'), await createdRefund(service, 'stripe')];
  for (const { id } of refunds) {
    await advanceRefund(service.deps, id);
    expect(await rowOf(service, id)).toMatchObject({ flagReason: 'insufficient_balance' });
  }
  const { visitor } = await signInMember(service, 'operator');
  const { text } = await visitor.get(`/dashboard/${service.organization.id}/test`);
  expect(text).toContain('2 refunds await funds at Stripe');
  expect(text).toContain('50.00 USD. Add funds in Stripe; the refunds then continue.');
  const next = (await readAttention(service.deps.db, undefined)).refunds.map((item) => item.next);
  expect(next).toEqual(['add funds at Stripe', 'add funds at Stripe']);

  account.hasFunds = true;
  for (const { id } of refunds) {
    await makeDue(service, id);
    await advanceRefund(service.deps, id);
    expect(await rowOf(service, id)).toMatchObject({ status: 'processing', flagReason: null });
  }
});
