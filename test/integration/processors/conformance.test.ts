import { describeProcessor } from '../../support/processors/describe-processor.ts';
import { useEventpay } from '../../support/processors/eventpay/use-eventpay.ts';
import { eventpayVariant } from '../../support/processors/eventpay/variant.ts';
import { processorVariants } from '../../support/processors/processor-variants.ts';

useEventpay();
for (const variant of [...processorVariants, eventpayVariant]) describeProcessor(variant);
