import { randomUUID } from 'node:crypto';
import type Stripe from 'stripe';
import { Deadline } from '../contract/calls.ts';
import { absent, asProbeResult, emptyWindow } from '../contract/outcome.ts';
import type { CallOptions, ProbedAbility, ProbeResult } from '../contract/processor.ts';
import type { StripeAccess } from './client.ts';
import { outcomeOf } from './map-error.ts';

/** One request of a probe. Stripe's own ids have no underscore after the prefix. */
type Ask = (stripe: Stripe, options: Stripe.RequestOptions) => Promise<unknown>;

const createdThen = {
  gte: emptyWindow.from.getTime() / 1000,
  lt: emptyWindow.to.getTime() / 1000,
};

/** What an ability consists of: a restricted key may read charges and not payment intents. */
const asks: Readonly<Record<ProbedAbility, readonly Ask[]>> = {
  readPayments: [
    (stripe, options) => stripe.charges.retrieve(`ch_${absent}`, {}, options),
    (stripe, options) => stripe.paymentIntents.retrieve(`pi_${absent}`, {}, options),
  ],
  disputes: [(stripe, options) => stripe.disputes.list({ limit: 1 }, options)],
  list: [(stripe, options) => stripe.refunds.list({ created: createdThen, limit: 1 }, options)],
  // A new key each time: Stripe repeats the answer to a key, also after the permission has changed.
  refund: [
    (stripe, options) =>
      stripe.refunds.create(
        { charge: `ch_${absent}` },
        { ...options, idempotencyKey: `probe-${randomUUID()}` },
      ),
  ],
  cancel: [(stripe, options) => stripe.refunds.cancel(`re_${absent}`, {}, options)],
};

/** Asks for an ability. When several permissions are missing, all of them are named. */
export async function probe(
  { stripe, within }: StripeAccess,
  ability: ProbedAbility,
  options: CallOptions,
): Promise<ProbeResult> {
  const deadline = new Deadline(options);
  const answers = await Promise.all(
    asks[ability].map(async (ask) => {
      try {
        await ask(stripe, within(deadline));
        return asProbeResult(ability, { kind: 'found' });
      } catch (error) {
        return asProbeResult(ability, outcomeOf(error));
      }
    }),
  );
  return worstOf(answers);
}

function worstOf(answers: readonly ProbeResult[]): ProbeResult {
  const refusals = answers.filter((answer) => answer.kind === 'misconfigured');
  const worst =
    refusals.find(({ scope }) => scope === 'credentials') ??
    refusals[0] ??
    answers.find(({ kind }) => kind === 'unavailable') ??
    answers[0];
  if (worst === undefined) throw new TypeError('A probe makes at least one request.');
  const permissions = refusals.flatMap(({ permission }) => permission ?? []);
  if (worst.kind !== 'misconfigured' || permissions.length === 0) return worst;
  return { ...worst, permission: permissions.join(', ') };
}
