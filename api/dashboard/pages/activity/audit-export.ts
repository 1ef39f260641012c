import type { ApiDependencies } from '#api/http/dependencies.ts';
import type { Api } from '#api/http/route.ts';
import { nameActors } from '#shared/audit/actors.ts';
import { type AuditFilter, auditBatches } from '#shared/audit/audit-log.ts';
import { recordedExport } from '#shared/audit/recorded-export.ts';
import { ServiceError } from '#shared/platform/errors.ts';
import { csvLine } from '#shared/platform/formats/csv.ts';
import { confirmMember, contextOf, needs } from '../../http/access.ts';
import type { Downloads } from '../../http/downloads.ts';
import { filterIn } from '../../http/filter.ts';
import { auditFilterSchema } from './audit-log.tsx';

const actions = ['audit_log.export_started', 'audit_log.exported'] as const;
const columns = ['id', 'createdAt', 'actor', 'actorName', 'action', 'target', 'detail'];

/** `/settings/audit-log/export`: the filtered entries as CSV, the oldest first. */
export function auditLogExport(scope: Api, deps: ApiDependencies, downloads: Downloads): void {
  // A HEAD request must not start an export.
  const options = { ...needs('admin'), exposeHeadRoute: false };
  scope.get('/settings/audit-log/export', options, async (request, reply) => {
    const { organization, actor, user } = contextOf(request);
    const { entered, reading } = filterIn(auditFilterSchema, request.query);
    if (reading.kind === 'invalid') {
      throw new ServiceError('validation_error', 'The filter is invalid. Go back to the list and fix it.');
    }
    // A long download must not outlast the role.
    const confirm = () => confirmMember(deps, request);
    const lines = recordedExport(
      deps,
      { organizationId: organization.id, actor, actions, detail: { filter: entered } },
      (onRows) => exportEntries(deps, organization.id, reading.value, { onRows, confirm }),
    );
    const name = `audit-log-${deps.clock.now().toISOString().slice(0, 10)}`;
    return downloads.send(reply, { userId: user.id, name, lines });
  });
}

interface Progress {
  onRows: (rowCount: number) => void;
  confirm: () => Promise<unknown>;
}

async function* exportEntries(
  { db, clock }: ApiDependencies,
  organizationId: string,
  filter: AuditFilter,
  { onRows, confirm }: Progress,
): AsyncGenerator<string> {
  const { since = new Date(0), until = clock.now() } = filter;
  yield csvLine(columns);
  for await (const entries of auditBatches(db, { ...filter, organizationId, since, until })) {
    await confirm();
    const actors = entries.map(({ actor }) => actor);
    const names = await nameActors(db, organizationId, actors);
    onRows(entries.length);
    yield entries
      .map(({ id, createdAt, actor, action, target, detail }) => [
        ...[id, createdAt.toISOString(), actor, names.get(actor) ?? null, action, target],
        JSON.stringify(detail),
      ])
      .map(csvLine)
      .join('');
  }
}
