import { appendFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { braintreeClient, sandboxControl, stripeClient } from '../sandbox/clients.ts';
import { startProcess } from '../support/processes/child-process.ts';
import { freePort } from '../support/processes/free-port.ts';
import { useTemporaryFolder } from '../support/processes/temporary-folder.ts';

const inFolder = useTemporaryFolder();

test('the sandbox keeps refunds, keys and settings after kill -9', async () => {
  const dataFile = inFolder('killed', 'state.journal');
  const port = await freePort();
  const url = `http://127.0.0.1:${port}`;
  const start = async () => {
    const args = ['--port', String(port), '--data-file', dataFile];
    const child = startProcess('test/sandbox/main.ts', { args });
    await child.waitForUrl(`${url}/_sandbox/health`);
    return child;
  };
  const params = { charge: 'ch_restart', amount: 100, metadata: { refund_id: 'ref_1' } };
  const options = { amount: '1.00', orderId: 'ref_2', apiRequestKey: 'restart' };
  const refundBoth = async () => {
    const refund = await stripeClient(url).refunds.create(params, { idempotencyKey: 'restart' });
    const { transaction } = await braintreeClient(url).transactions.refund('restart', options);
    return [refund.id, transaction.id];
  };
  const first = await start();
  const killed = sandboxControl(url);
  await killed.settings({ autoSettleMs: null });
  const ids = await refundBoth();
  const before = await killed.refunds();
  expect(before).toMatchObject([
    { id: ids[0], key: 'ref_1' },
    { id: ids[1], key: 'ref_2' },
  ]);
  await first.kill9();
  // The kill may have come in the middle of a write.
  appendFileSync(dataFile, '[{"refund":{"id":"re_ha');

  const second = await start();
  expect(await refundBoth()).toEqual(ids);
  expect(await killed.refunds()).toEqual(before);
  expect(await killed.settings({})).toMatchObject({ autoSettleMs: null });
  await second.stop();
});
