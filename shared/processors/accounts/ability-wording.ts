import type { ProcessorAccount } from '../../platform/database.ts';
import type { Ability } from '../contract/processor.ts';
import { accountLabel } from '../registry.ts';
import { abilitiesOf, refusedAbilities } from './abilities.ts';

/** What people call an ability. */
export const abilityLabels: Readonly<Record<Ability, string>> = {
  readPayments: 'Reading payments',
  disputes: 'Reading disputes',
  list: 'Reading refunds',
  refund: 'Refunds',
  cancel: 'Cancellations',
  webhooks: 'Webhooks',
};

/**
 * Which abilities of an account are refused, the credentials alone when all are. An account that was marked before abilities were kept
 * apart counts as one whose credentials are refused.
 */
export function refusalsOf(
  account: Pick<ProcessorAccount, 'abilities' | 'misconfiguredAt'>,
): (Ability | 'credentials')[] {
  const refused = refusedAbilities(abilitiesOf(account));
  if (refused.includes('credentials')) return ['credentials'];
  return refused.length === 0 && account.misconfiguredAt !== null ? ['credentials'] : refused;
}

/** "Credentials rejected", "Refunds refused" or "3 abilities refused". */
export function refusalInShort(refusals: readonly (Ability | 'credentials')[]): string {
  const [first, ...others] = refusals;
  if (first === undefined || first === 'credentials') return 'Credentials rejected';
  return others.length === 0 ? `${abilityLabels[first]} refused` : `${refusals.length} abilities refused`;
}

/** "Stripe rejected the credentials", or "Stripe: refunds and cancellations refused"; with the name of another account than "Stripe". */
export function refusalTitle(
  account: Pick<ProcessorAccount, 'name' | 'processor'>,
  refusals: readonly (Ability | 'credentials')[],
): string {
  const label = accountLabel(account);
  const labels = refusals.flatMap((each) =>
    each === 'credentials' ? [] : abilityLabels[each].toLowerCase(),
  );
  if (labels.length < refusals.length) return `${label} rejected the credentials`;
  return `${label}: ${new Intl.ListFormat('en').format(labels)} refused`;
}
