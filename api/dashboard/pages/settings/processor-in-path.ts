import { ServiceError } from '../../../../shared/platform/errors.ts';
import { processorNames } from '../../../../shared/processors/registry.ts';

/** @throws ServiceError not_found for a processor that there is none of. */
export function processorInPath({ processor }: { processor: string }): string {
  if (processorNames.includes(processor)) return processor;
  throw new ServiceError('not_found', 'There is no such processor.');
}
