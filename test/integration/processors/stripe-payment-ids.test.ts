import { expect, test } from 'vitest';
import { chargeJson } from '../../support/processors/processor-replies.ts';
import { connect, stripeCredentials } from '../../support/processors/processor-variants.ts';
import { json, useScriptedServers } from '../../support/processors/scripted-server.ts';

const serve = useScriptedServers();

async function idsOf(requested: string, charge: object): Promise<readonly string[]> {
  const { url } = await serve((call, response) =>
    json(
      response,
      200,
      call.path.startsWith('/v1/charges')
        ? chargeJson(charge)
        : { object: 'payment_intent', latest_charge: chargeJson(charge) },
    ),
  );
  const answer = await connect('stripe', stripeCredentials, url).getPayment(requested, { timeoutMs: 5_000 });
  if (answer.kind !== 'found') throw new Error(answer.kind);
  return answer.value.transactionIds;
}

test.each([
  ['that succeeded', {}, ['pi_1', 'ch_1'], ['pi_1', 'ch_1']],
  ['whose intent is an object', { payment_intent: { id: 'pi_1' } }, ['pi_1', 'ch_1'], ['pi_1', 'ch_1']],
  ['without an intent', { payment_intent: null }, ['ch_1'], ['ch_1']],
  // The customer may pay the same intent with another charge.
  ['that failed', { status: 'failed' }, ['ch_1'], ['pi_1']],
])('tells the ids of a charge %s, however it was read', async (_what, charge, byCharge, byIntent) => {
  expect(await idsOf('ch_1', charge)).toEqual(byCharge);
  expect(await idsOf('pi_1', charge)).toEqual(byIntent);
});
