import { beforeEach, expect, test } from 'vitest';
import { setProcessorAccount } from '#shared/processors/accounts/manage-accounts.ts';
import { chargeJson } from '../../support/processors/processor-replies.ts';
import { json, useScriptedServers } from '../../support/processors/scripted-server.ts';
import { advanceRefund } from '../../support/refunds/advance-refund.ts';
import { createdRefund } from '../../support/refunds/flagged-refunds.ts';
import { makeDue, rowOf, timelineOf } from '../../support/refunds/refund-records.ts';
import { useService } from '../../support/use-service.ts';

// Stripe answers, and leaves out a field that is documented as always there.
const service = useService({ workers: 0, settings: { CREATE_WAIT_MS: 0 } });
const serve = useScriptedServers();
/** What Stripe does at the moment. */
let stripe: 'unreadable' | 'down' | 'up';

beforeEach(async () => {
  stripe = 'unreadable';
  const { url } = await serve(({ method, path }, response) => {
    const charge = chargeJson({
      id: path.split(/[/?]/)[3],
      ...(stripe === 'up' ? {} : { disputed: undefined }),
    });
    if (stripe === 'down') json(response, 503, { error: { type: 'api_error', message: 'down' } });
    else if (path.startsWith('/v1/charges/')) json(response, 200, charge);
    else if (method === 'GET') json(response, 200, { object: 'list', data: [], has_more: false });
    else json(response, 400, { error: { type: 'invalid_request_error', code: 'no', message: 'No.' } });
  });
  const credentials = { secretKey: 'sk_test_unreadable', apiBase: url };
  const account = {
    organizationId: service.organization.id,
    environment: 'test',
    processor: 'stripe',
  } as const;
  await setProcessorAccount(service.deps, { ...account, credentials, actor: 'test' });
});

const create = (transactionId: string) =>
  service.call('POST', '/v1/refunds', { body: { transactionId, amount: 4_000, reason: 'other' } });

test('refuses refunds of a payment whose answer cannot be read, and says so', async () => {
  for (let again = 0; again < 3; again += 1) {
    const { status, body } = await create('ch_unreadable');
    expect([status, body.error?.code]).toEqual([502, 'processor_error']);
    expect(body.error.message).toMatch(/^The answer of Stripe .* cannot be read.*as documented: disputed\.$/);
  }
  const check = await service.call('POST', '/v1/policies/check', {
    body: { transactionId: 'ch_unreadable' },
  });
  expect([check.status, check.body.error?.code]).toEqual([502, 'processor_error']);
  expect(await service.deps.db.refund.count()).toBe(0);
});

test('flags a refund that was accepted before, and continues once the answer can be read', async () => {
  stripe = 'down';
  const { id } = await createdRefund(service, 'stripe', { transactionId: 'ch_accepted' });
  stripe = 'unreadable';
  for (let again = 0; again < 3; again += 1) {
    expect((await rowOf(service, id)).flagReason).toBeNull();
    await makeDue(service, id);
    await advanceRefund(service.deps, id);
  }
  const { status, flagReason, flagFacts } = await rowOf(service, id);
  expect([status, flagReason]).toEqual(['processing', 'answer_unreadable']);
  expect(JSON.stringify(flagFacts)).toContain('not as documented: disputed');
  // More are not accepted meanwhile, although this one was.
  expect((await create('ch_accepted')).status).toBe(502);
  stripe = 'up';
  await makeDue(service, id);
  await advanceRefund(service.deps, id);
  expect(await rowOf(service, id)).toMatchObject({ status: 'failed', failureCode: 'no', flagReason: null });
  expect((await timelineOf(service, id)).at(-1)).toBe('refund.failed');
});
