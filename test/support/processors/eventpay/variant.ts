import { newId } from '#shared/platform/ids.ts';
import { eventpay } from '#test/sandbox/eventpay/processor.ts';
import { connectForWebhooks, type ProcessorVariant } from '../processor-variants.ts';
import { eventpayKind } from './kind.ts';

export const eventpayVariant: ProcessorVariant = {
  title: 'eventpay',
  name: 'eventpay',
  sandbox: eventpay,
  capabilities: eventpayKind.capabilities,
  credentials: eventpay.credentials('test'),
  wrongCredentials: { account: 'test', secret: 'private' },
  cancellable: null,
  knowsKeys: false,
  ids: {
    payment: 'ep_123',
    refund: 'epr_1',
    missingPayment: 'ep_missing',
    missingRefund: 'epr_missing',
    declined: 'ep_declined',
  },
  transactionIds: (id) => [id],
  statuses: { completed: 'paid_out', failed: 'bounced' },
  operations: { lookup: 'transaction.get', refundsOfPayment: 'transaction.get' },
  webhooks: {
    about: ({ externalRefundId, refundId, transactionId }, { environment = 'test' } = {}) => {
      const refund = {
        id: externalRefundId,
        status: 'paid_out',
        reference: refundId ?? '',
        payment: transactionId,
      };
      const event = { id: 'epe_1', at: new Date(), environment, refund };
      return eventpay.webhooks.signed(JSON.stringify(event), eventpay.credentials(environment));
    },
    reported: { externalRefundId: 'epr_1', refundId: newId('ref'), transactionId: 'ep_1' },
    event: { id: /^epe_1$/, type: 'refund.paid_out', environment: 'test', transactionIds: ['ep_1'] },
  },
  connectAccount: () => connectForWebhooks(eventpay),
};
