import { braintreeKind } from './braintree/kind.ts';
import type { ProcessorKind } from './contract/processor.ts';
import { stripeKind } from './stripe/kind.ts';

/**
 * The processors that there are, by name. Each one's credentials are known only to itself: what `parseCredentials`
 * returns goes into the same kind's `connect`, and nowhere else.
 */
export const processorKinds: Readonly<Record<string, ProcessorKind<unknown>>> = {
  stripe: stripeKind,
  braintree: braintreeKind,
};

/** Their names, in the order in which people should see them. */
export const processorNames: readonly string[] = Object.keys(processorKinds);

/** The name of a processor for display; an unknown one's as it is. */
export function displayNameOf(name: string): string {
  return processorKinds[name]?.displayName ?? name;
}

/** "Stripe", "shop-eu (Stripe)": an account that is named after its processor needs no other name. */
export function accountLabel({ name, processor }: { name: string; processor: string }): string {
  return name === processor ? displayNameOf(processor) : `${name} (${displayNameOf(processor)})`;
}

/** @throws RangeError for a name that is not in the registry. */
export function processorKind(name: string): ProcessorKind<unknown> {
  const kind = Object.hasOwn(processorKinds, name) ? processorKinds[name] : undefined;
  if (kind === undefined) throw new RangeError(`There is no processor ${name}.`);
  return kind;
}
