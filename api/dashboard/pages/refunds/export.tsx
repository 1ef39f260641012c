import { ServiceError } from '../../../../shared/platform/errors.ts';
import { auditedExport } from '../../../../shared/refunds/queries/export-refunds.ts';
import { countRefunds } from '../../../../shared/refunds/queries/search-refunds.ts';
import type { ApiDependencies } from '../../../http/dependencies.ts';
import type { Api } from '../../../http/route.ts';
import { type Context, confirmMember, contextOf } from '../../http/access.ts';
import { entered as enteredText } from '../../http/forms.ts';
import { sendPart } from '../../http/render.ts';
import { countCap } from './count-words.ts';
import { enteredFilter, readFilter } from './entered-filter.ts';
import { ExportProgress } from './export-bar.tsx';
import { ExportDeliveries } from './export-deliveries.ts';
import { RunningExports } from './running-exports.ts';

const viewer = { role: 'viewer' as const };

/** Of the time in which a process has to close, downloads get so much; the rest is for writing down how they ended. */
const closingShare = 0.8;

/** `/refunds/export`: the refunds of a filter as a file, which comes as fast as it is taken. */
export function exportPages(room: Api, deps: ApiDependencies): void {
  const running = new RunningExports();
  const deliveries = deliveriesUntilClose(room, deps);

  // Whoever asks for its headers alone must not start an export.
  room.get('/refunds/export', { config: viewer, exposeHeadRoute: false }, async (request, reply) => {
    const context = contextOf(request);
    const reading = readFilter(enteredFilter(request.query));
    if (reading.kind === 'invalid') {
      throw new ServiceError('validation_error', 'The filter is not valid. Go back to the list and mend it.');
    }
    const owner = context.owner;
    const name = nameOf(context, enteredText(request.query, 'run'));
    const reader = { userId: context.user.id, organizationId: context.organization.id };
    const observer = await running.begin(reader, name, () =>
      countRefunds(deps.db, owner, reading.value, countCap),
    );
    // A download may take long, and must not outlast the right to it.
    const confirm = () => confirmMember(deps, request);
    const asked = { owner, filter: reading.value, actor: context.actor, confirm };
    const csv = deliveries.deliver(reply.raw, auditedExport(deps, asked, observer));
    // One that is closed before its first piece is taken has never begun, and ends nowhere else.
    csv.once('close', () => observer.onEnd(false));
    const day = deps.clock.now().toISOString().slice(0, 10);
    return reply
      .type('text/csv; charset=utf-8')
      .header('content-disposition', `attachment; filename="refunds-${context.environment}-${day}.csv"`)
      .send(csv);
  });

  room.get('/refunds/export/progress', { config: viewer }, async (request, reply) => {
    const context = contextOf(request);
    const run = enteredText(request.query, 'run');
    const asked = Number.parseInt(enteredText(request.query, 'asked'), 10) || 1;
    const state = running.find(nameOf(context, run));
    return sendPart(reply, <ExportProgress context={context} run={run} asked={asked} state={state} />);
  });
}

/** A process that closes lets downloads end for a while, breaks off the others, and waits until that is in the audit log. */
function deliveriesUntilClose(room: Api, { settings, closing }: ApiDependencies): ExportDeliveries {
  const deliveries = new ExportDeliveries();
  let overdue: NodeJS.Timeout | null = null;
  closing.addEventListener('abort', () => {
    const patienceMs = settings.SHUTDOWN_TIMEOUT_MS * closingShare;
    overdue = setTimeout(() => deliveries.breakOff(), patienceMs).unref();
  });
  room.addHook('onClose', async () => {
    if (overdue !== null) clearTimeout(overdue);
    deliveries.breakOff();
    await deliveries.ended();
  });
  return deliveries;
}

/** Nobody sees the exports of others, whatever name is asked for. */
function nameOf({ user, organization, environment }: Context, run: string): string {
  return `${user.id}/${organization.id}/${environment}/${run.slice(0, 36)}`;
}
