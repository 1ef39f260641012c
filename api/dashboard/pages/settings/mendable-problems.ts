import { ServiceError } from '../../../../shared/platform/errors.ts';
import { type FormProblems, problemsOf } from '../../http/forms.ts';

/**
 * What another entry in the form can mend.
 * @param fields those that the form shows.
 * @throws the error again when it is anything else: somebody who may not, or something that is not there.
 */
export function mendableProblems(error: unknown, fields: readonly string[]): FormProblems {
  if (error instanceof ServiceError && error.code === 'validation_error') return problemsOf(error, fields);
  throw error;
}
