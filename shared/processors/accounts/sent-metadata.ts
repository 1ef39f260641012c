import { isDeepStrictEqual } from 'node:util';
import type { Stores } from '../../platform/database.ts';
import { ServiceError } from '../../platform/errors.ts';
import { nameKeys } from '../contract/processor.ts';
import { processorKind, processorNames } from '../registry.ts';
import type { AccountPlace } from './account.ts';
import { changeSettings } from './account-settings.ts';

/** Keys that an account may send. */
export const maxSentKeys = 5;

/** Without the brackets that processors write nested parameters with. */
const keyPattern = /^[^[\]\p{C}]{1,40}$/u;

/**
 * Sets which keys of a refund's metadata are sent to the processor with it, from the next first attempt on, also for accounts that are
 * connected to this one. An unchanged setting is not written.
 * @param request.keys none to send no metadata; repeated ones count once.
 * @returns the keys as stored.
 * @throws ServiceError validation_error for keys that cannot be sent, and for a processor that keeps no metadata; not_found for an
 * account that is not set up.
 */
export async function setSentMetadata(
  deps: Stores,
  { keys: given, actor, ...place }: AccountPlace & { keys: readonly string[]; actor: string },
): Promise<string[]> {
  const keys = [...new Set(given)];
  const problem = problemOf(place.processor, keys);
  if (problem !== null) throw new ServiceError('validation_error', problem);
  await changeSettings(deps, place, actor, 'account.sent_metadata_set', ({ sentMetadataKeys: from }) =>
    isDeepStrictEqual(from, keys) ? null : { data: { sentMetadataKeys: keys }, detail: { from, to: keys } },
  );
  return keys;
}

/** What is wrong with the setting; null when nothing is. */
function problemOf(processor: string, keys: readonly string[]): string | null {
  if (!processorNames.includes(processor)) return `processor: must be one of: ${processorNames.join(', ')}.`;
  const { displayName, keepsMetadata } = processorKind(processor);
  if (!keepsMetadata) return `processor: ${displayName} keeps no metadata with a refund.`;
  if (keys.length > maxSentKeys) return `keys: must be at most ${maxSentKeys}.`;
  const reserved = keys.find((key) => nameKeys.includes(key));
  if (reserved !== undefined) return `keys: must not include ${reserved}, which this service sends itself.`;
  return keys.every((key) => keyPattern.test(key))
    ? null
    : 'keys: must have 1 to 40 characters each, without square brackets and control characters.';
}
