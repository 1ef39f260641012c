import { ServiceError } from '../../platform/errors.ts';
import { redact } from '../../platform/log.ts';

const reasonPattern = /^[^\p{Cc}]{1,500}$/u;

/**
 * The reason that a person gives for a decision, as it goes into the timeline and the audit log.
 * @throws ServiceError validation_error for one that is empty, too long or not printable.
 */
export function readGivenReason(reason: string): string {
  // It goes into timelines and the audit log, where no card number belongs.
  const words = redact(reason.trim());
  if (reasonPattern.test(words)) return words;
  throw new ServiceError('validation_error', 'reason: has to be 1 to 500 printable characters.');
}
