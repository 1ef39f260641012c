import { describeConnect } from './describe/connect.ts';
import { describeContract } from './describe/contract.ts';
import { describeFaults } from './describe/faults.ts';
import { describeListing } from './describe/listing.ts';
import { describeNames } from './describe/names.ts';
import { describeProbes } from './describe/probes.ts';
import { describeWebhooks } from './describe/webhooks.ts';
import type { ProcessorVariant } from './processor-variants.ts';

/** Everything that is asked of any processor. */
export function describeProcessor(variant: ProcessorVariant): void {
  describeContract(variant);
  describeFaults(variant);
  describeNames(variant);
  // The other variants of a processor differ in what they write.
  if (variant.title !== variant.name) return;
  describeConnect(variant);
  describeProbes(variant);
  describeWebhooks(variant);
  describeListing(variant);
}
