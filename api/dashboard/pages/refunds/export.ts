import type { ApiDependencies } from '#api/http/dependencies.ts';
import type { Api } from '#api/http/route.ts';
import { ServiceError } from '#shared/platform/errors.ts';
import { auditedExport, exportColumns } from '#shared/refunds/queries/export-refunds.ts';
import { confirmMember, contextOf, needs } from '../../http/access.ts';
import type { Downloads } from '../../http/downloads.ts';
import { filterIn } from '../../http/filter.ts';
import { enteredList } from '../../http/forms.ts';
import { filterSchema } from './filter.ts';

/** `/refunds/export`: the filtered refunds as CSV. */
export function refundExport(scope: Api, deps: ApiDependencies, downloads: Downloads): void {
  // A HEAD request must not start an export.
  const options = { ...needs('viewer'), exposeHeadRoute: false };
  scope.get('/refunds/export', options, async (request, reply) => {
    const { owner, actor, user, environment } = contextOf(request);
    const { reading } = filterIn(filterSchema, request.query);
    const columns = enteredList(request.query, 'columns').filter((each) => exportColumns.includes(each));
    const metadataKeys = enteredList(request.query, 'metadataKeys').filter((each) => each.length <= 100);
    const chosen = columns.length + metadataKeys.length === 0 ? undefined : { columns, metadataKeys };
    if (reading.kind === 'invalid') {
      throw new ServiceError('validation_error', 'The filter is invalid. Go back to the list and fix it.');
    }
    // A long download must not outlast the membership.
    const confirm = () => confirmMember(deps, request);
    const lines = auditedExport(deps, { owner, filter: reading.value, actor, chosen, confirm });
    const name = `refunds-${environment}-${deps.clock.now().toISOString().slice(0, 10)}`;
    return downloads.send(reply, { userId: user.id, name, lines });
  });
}
