import { expect, test } from 'vitest';
import { signInMember } from '../../support/dashboard/dashboard-member.ts';
import { webhookAbout } from '../../support/processors/signed-webhooks.ts';
import { reportOf, useWebhooks } from '../../support/processors/webhooks.ts';
import { newRefund } from '../../support/refunds/new-refund.ts';
import { untilStatus } from '../../support/refunds/refund-records.ts';
import { untilChange } from '../../support/service.ts';
import { useService } from '../../support/use-service.ts';

const service = useService();
const webhooks = useWebhooks(service);

test('an event of a processor is found by its ID, with its refund and what followed, in its environment alone', async () => {
  const { id } = await newRefund(service, {}, { headers: untilChange });
  const refund = await untilStatus(service, id, 'completed');
  const failed = { status: 'failed', failureReason: 'expired_or_canceled_card' };
  await service.sandbox.driveRefund(refund.externalRefundId ?? '', failed);
  await webhooks.send('stripe', webhookAbout('stripe', { ...reportOf(refund), processorStatus: 'failed' }));
  await untilStatus(service, id, 'failed');
  const [event] = await webhooks.events();
  const { visitor } = await signInMember(service, 'operator');
  const base = `/dashboard/${service.organization.id}/test`;
  const find = async (query: string, at = base) =>
    (await visitor.get(`${at}/processor-events?${query}`)).text;

  const found = await find(`id=${event?.externalEventId}`);
  expect(found).toContain(`${base}/refunds/${id}`);
  expect(found).toContain('>failed<span class="detail small muted">Failed<');
  expect(await find('processor=stripe')).toContain(event?.externalEventId);
  for (const elsewhere of [
    await find('processor=braintree'),
    await find('id=evt_none'),
    await find('', base.replace('/test', '/live')),
  ]) {
    expect(elsewhere).toContain('Event not listed?');
    expect(elsewhere).not.toContain(event?.externalEventId);
  }
});
