import { braintreeKind } from './braintree/kind.ts';
import type { ProcessorKind } from './contract/processor.ts';
import { stripeKind } from './stripe/kind.ts';

/**
 * The processors that there are, by name. Each one's credentials are known only to itself: what `parseCredentials`
 * returns goes into the same kind's `connect`, and nowhere else.
 */
export const processorKinds: Readonly<Record<string, ProcessorKind<unknown>>> = {};

/** Their names, in the order in which people should see them. */
export const processorNames: readonly string[] = [];

registerProcessor(stripeKind);
registerProcessor(braintreeKind);

/**
 * Adds a processor. Every process has to add the same ones, before it opens its dependencies.
 * @returns the function that removes it again.
 */
export function registerProcessor<Credentials>(kind: ProcessorKind<Credentials>): () => void {
  const { name } = kind;
  const kinds = processorKinds as Record<string, ProcessorKind<unknown>>;
  const names = processorNames as string[];
  kinds[name] = kind;
  names.push(name);
  return () => {
    delete kinds[name];
    names.splice(names.indexOf(name), 1);
  };
}

/** The name of a processor for display; an unknown one's as it is. */
export function displayNameOf(name: string): string {
  return processorKinds[name]?.displayName ?? name;
}

/** @throws RangeError for a name that is not in the registry. */
export function processorKind(name: string): ProcessorKind<unknown> {
  const kind = Object.hasOwn(processorKinds, name) ? processorKinds[name] : undefined;
  if (kind === undefined) throw new RangeError(`There is no processor ${name}.`);
  return kind;
}
