import { randomUUID } from 'node:crypto';
import { ServiceError } from '../../../../shared/platform/errors.ts';
import { auditedExport } from '../../../../shared/refunds/queries/export-refunds.ts';
import { type CappedCount, countRefunds } from '../../../../shared/refunds/queries/search-refunds.ts';
import type { ApiDependencies } from '../../../http/dependencies.ts';
import type { Api } from '../../../http/route.ts';
import { type Context, confirmMember, contextOf } from '../../http/access.ts';
import { entered as enteredText } from '../../http/forms.ts';
import { sendPart } from '../../http/render.ts';
import { keptWhenRefused } from '../../layout/live.tsx';
import { inWhole } from '../../layout/numbers.ts';
import { type EnteredFilter, enteredFilter, filterQuery, readFilter } from './filter.ts';
import { ExportDeliveries, type ExportState, RunningExports } from './running-exports.ts';

const viewer = { role: 'viewer' as const };

/** The share of the shutdown time that downloads may take; the rest is for recording how they ended. */
const shutdownShare = 0.8;

/** `/refunds/export`: the filtered refunds as CSV, streamed. */
export function exportPages(scope: Api, deps: ApiDependencies): void {
  const running = new RunningExports();
  const deliveries = deliveriesUntilClose(scope, deps);

  // A HEAD request must not start an export.
  scope.get('/refunds/export', { config: viewer, exposeHeadRoute: false }, async (request, reply) => {
    const context = contextOf(request);
    const { owner, actor, user, organization, environment } = context;
    const reading = readFilter(enteredFilter(request.query));
    if (reading.kind === 'invalid') {
      throw new ServiceError('validation_error', 'The filter is invalid. Go back to the list and fix it.');
    }
    const filter = reading.value;
    const observer = await running.begin(
      { userId: user.id, organizationId: organization.id },
      nameOf(context, enteredText(request.query, 'run')),
      () => countRefunds(deps.db, owner, filter, countCap),
    );
    // A long download must not outlast the membership.
    const confirm = () => confirmMember(deps, request);
    const pieces = auditedExport(deps, { owner, filter, actor, confirm }, observer);
    const csv = deliveries.deliver(reply.raw, pieces);
    // A stream that is closed before its first piece is read never runs auditedExport.
    csv.once('close', () => observer.onEnd(false));
    const day = deps.clock.now().toISOString().slice(0, 10);
    return reply
      .type('text/csv; charset=utf-8')
      .header('content-disposition', `attachment; filename="refunds-${environment}-${day}.csv"`)
      .send(csv);
  });

  scope.get('/refunds/export/progress', { config: viewer }, async (request, reply) => {
    const context = contextOf(request);
    const run = enteredText(request.query, 'run');
    const attempt = Number.parseInt(enteredText(request.query, 'asked'), 10) || 1;
    const state = running.find(nameOf(context, run));
    return sendPart(reply, <ExportProgress context={context} run={run} attempt={attempt} state={state} />);
  });
}

/** On shutdown downloads may finish within a part of the shutdown time; then they are aborted and recorded. */
function deliveriesUntilClose(scope: Api, { settings, closing }: ApiDependencies): ExportDeliveries {
  const deliveries = new ExportDeliveries();
  let overdue: NodeJS.Timeout | null = null;
  closing.addEventListener('abort', () => {
    overdue = setTimeout(() => deliveries.abort(), settings.SHUTDOWN_TIMEOUT_MS * shutdownShare).unref();
  });
  scope.addHook('onClose', async () => {
    if (overdue !== null) clearTimeout(overdue);
    deliveries.abort();
    await deliveries.ended();
  });
  return deliveries;
}

/** Includes the user, so that users cannot read the progress of each other's exports. */
function nameOf({ user, organization, environment }: Context, run: string): string {
  return `${user.id}/${organization.id}/${environment}/${run.slice(0, 36)}`;
}

/** Refunds are counted up to this number. */
export const countCap = 10_000;

function countWords({ count, atLeast }: CappedCount): string {
  const number = inWhole(count);
  return `${atLeast ? `more than ${number}` : number} ${count === 1 ? 'refund' : 'refunds'}`;
}

interface ExportBarProps {
  context: Context;
  entered: EnteredFilter;
  count: CappedCount;
}

/** The number of refunds and a link to export them. */
export function ExportBar({ context, entered, count }: ExportBarProps) {
  const run = randomUUID();
  const base = `${context.base}/refunds/export`;
  const words = countWords(count);
  return (
    <div class="stack-tight">
      {/* htmx listens around the link: on the link itself it would prevent the download. */}
      <div
        class="spread"
        hx-get={progressUrl(base, run, 1)}
        hx-trigger="click target:#export"
        hx-target="#export-progress"
        hx-swap="outerMorph"
      >
        <p class="muted">{`${words.charAt(0).toUpperCase()}${words.slice(1)}`}</p>
        <a class="button" id="export" href={`${base}${filterQuery(entered, { run })}`}>
          Export {words} as CSV
        </a>
      </div>
      <p id="export-progress" class="small muted export-progress" />
    </div>
  );
}

function progressUrl(base: string, run: string, attempt: number): string {
  return `${base}/progress?run=${run}&asked=${attempt}`;
}

/** How often the progress of an unknown export is requested. */
const maxAttempts = 10;

interface ExportProgressProps {
  context: Context;
  run: string;
  /** How often it has been requested. */
  attempt: number;
  /** Null when this process does not know the export: not started, forgotten, or run by another process. */
  state: ExportState | null;
}

/** The progress of an export; it updates itself until the export has ended. */
function ExportProgress({ context, run, attempt, state }: ExportProgressProps) {
  const isOver = state === null ? attempt >= maxAttempts : state.kind !== 'running';
  const live = {
    'hx-get': progressUrl(`${context.base}/refunds/export`, run, attempt + 1),
    'hx-trigger': 'every 1s',
    'hx-swap': 'outerMorph',
    ...keptWhenRefused,
  };
  const bar =
    state?.kind === 'running' && !state.total.atLeast ? (
      <progress value={state.rowCount} max={state.total.count} aria-label="Export" />
    ) : null;
  return (
    <p id="export-progress" class="small muted export-progress" role="status" {...(isOver ? {} : live)}>
      {bar}
      {progressWords(state, isOver)}
    </p>
  );
}

function progressWords(state: ExportState | null, isOver: boolean): string {
  if (state === null) return isOver ? 'See the progress in your browser.' : 'Export starting.';
  const { kind, rowCount, total } = state;
  const exported = countWords({ count: rowCount, atLeast: false });
  switch (kind) {
    case 'running':
      return total.atLeast ? `${exported} so far` : `${inWhole(rowCount)} of ${countWords(total)}`;
    case 'complete':
      return `Exported ${exported}.`;
    case 'incomplete':
      return `Export stopped after ${exported}. The file is incomplete: export again.`;
  }
}
