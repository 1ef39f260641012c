import { beforeEach, describe, expect, test } from 'vitest';
import { readNeedsAttention } from '#shared/insights/needs-attention.ts';
import { abilitiesOf } from '#shared/processors/accounts/abilities.ts';
import { signBraintree, signStripe, webhookAbout } from '#test/support/processors/signed-webhooks.ts';
import { useWebhooks } from '#test/support/processors/webhooks.ts';
import { useService } from '#test/support/use-service.ts';

const service = useService({ workers: 0 });
const webhooks = useWebhooks(service);

const about = { externalRefundId: 're_1', refundId: null, transactionId: 'ch_1' };
const requests = {
  stripe: {
    wrong: signStripe('{}', { secret: 'whsec_old' }),
    unsigned: { headers: { 'content-type': 'application/json' }, body: '{}' },
    noEvent: signStripe('{}'),
    reason: /signature/i,
  },
  braintree: {
    wrong: signBraintree('<notification/>', { keys: { publicKey: 'old', privateKey: 'old' } }),
    unsigned: { headers: { 'content-type': 'application/x-www-form-urlencoded' }, body: 'bt_payload=x' },
    noEvent: signBraintree('<notification/>'),
    reason: 'no matching public key',
  },
};

const accountOf = (processor: string) =>
  service.deps.db.processorAccount.findFirstOrThrow({ where: { processor, environment: 'test' } });

describe.each(['stripe', 'braintree'] as const)('the webhooks of %s', (processor) => {
  const { wrong, unsigned, noEvent, reason } = requests[processor];
  const send = async (webhook: typeof wrong, times = 1) => {
    for (let sent = 0; sent < times; sent += 1) await webhooks.send(processor, webhook);
  };
  const state = async () => abilitiesOf(await accountOf(processor)).webhooks ?? null;
  const refused = async () =>
    (
      await readNeedsAttention(service.deps.db, {
        organizationId: service.organization.id,
        environment: 'test',
      })
    ).refusedAccounts;

  beforeEach(async () => {
    await send(webhookAbout(processor, about));
  });

  test('need attention after five signed ones in a row that were refused, until one is verified', async () => {
    expect(await state()).toMatchObject({ state: 'works' });
    await send(wrong, 4);
    await send(webhookAbout(processor, about));
    await send(wrong, 4);
    expect(await refused()).toEqual([]);
    await send(wrong);
    const message = typeof reason === 'string' ? reason : expect.stringMatching(reason);
    expect(await state()).toMatchObject({ state: 'refused', code: 'invalid_signature', message });
    expect(await refused()).toMatchObject([{ processor }]);
    await send(webhookAbout(processor, about));
    expect([await state(), await refused()]).toMatchObject([{ state: 'works' }, []]);
  });

  test('do not count as refused for what is not signed, or signed well and no event', async () => {
    await send(unsigned, 6);
    await send(noEvent, 6);
    expect(await state()).toMatchObject({ state: 'works' });
  });

  test('that another process refused count as verified again once one is verified here', async () => {
    await service.deps.db.processorAccount.updateMany({
      where: { processor },
      data: { abilities: { webhooks: { state: 'refused', since: new Date().toISOString() } } },
    });
    await send(webhookAbout(processor, about));
    expect(await state()).toMatchObject({ state: 'works' });
  });
});
