import { ServiceError } from '../../../shared/platform/errors.ts';
import { type IdPrefix, isId } from '../../../shared/platform/ids.ts';

/**
 * An id that a path names; the database is asked for nothing that cannot be one.
 * @throws ServiceError not_found.
 */
export function idInPath(prefix: IdPrefix, text: string): string {
  if (isId(prefix, text)) return text;
  throw new ServiceError('not_found', 'There is nothing at this address.');
}
