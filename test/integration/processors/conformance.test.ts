import { describeProcessor } from '../../support/processors/describe-processor.ts';
import { processorVariants } from '../../support/processors/processor-variants.ts';

for (const variant of processorVariants) describeProcessor(variant);
