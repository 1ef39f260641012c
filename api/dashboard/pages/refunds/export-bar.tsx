import { randomUUID } from 'node:crypto';
import type { CappedCount } from '../../../../shared/refunds/queries/search-refunds.ts';
import type { Context } from '../../http/access.ts';
import { keptWhenRefused } from '../../layout/live.tsx';
import { inWhole } from '../../layout/numbers.ts';
import { countWords } from './count-words.ts';
import { type EnteredFilter, filterQuery } from './entered-filter.ts';
import type { ExportState } from './running-exports.ts';

export interface ExportBarProps {
  context: Context;
  entered: EnteredFilter;
  count: CappedCount;
}

/** Says how many refunds there are, and gives them as a file. */
export function ExportBar({ context, entered, count }: ExportBarProps) {
  const run = randomUUID();
  const base = `${context.base}/refunds/export`;
  return (
    <div class="stack-tight">
      {/* It listens around the link, because a link that it listens to is not followed any more. */}
      <div
        class="spread"
        hx-get={progressUrl(base, run, 1)}
        hx-trigger="click target:#export"
        hx-target="#export-progress"
        hx-swap="outerMorph"
      >
        <p class="muted">{sentence(countWords(count))}</p>
        <a class="button" id="export" href={`${base}${filterQuery(entered, { run })}`}>
          Export {countWords(count)} as CSV
        </a>
      </div>
      <p id="export-progress" class="small muted export-progress" />
    </div>
  );
}

function sentence(words: string): string {
  return `${words.charAt(0).toUpperCase()}${words.slice(1)}`;
}

function progressUrl(base: string, run: string, asked: number): string {
  return `${base}/progress?run=${run}&asked=${asked}`;
}

/** So often an export that is not known yet is asked for. */
const mostAsked = 10;

export interface ExportProgressProps {
  context: Context;
  run: string;
  /** How often it has been asked for. */
  asked: number;
  /** Null when this process knows nothing of it: not yet, not any more, or because another one has it. */
  state: ExportState | null;
}

/** How far an export is; it asks again until that is known for good. */
export function ExportProgress({ context, run, asked, state }: ExportProgressProps) {
  const isOver = state === null ? asked >= mostAsked : state.kind !== 'running';
  const live = {
    'hx-get': progressUrl(`${context.base}/refunds/export`, run, asked + 1),
    'hx-trigger': 'every 1s',
    'hx-swap': 'outerMorph',
    ...keptWhenRefused,
  };
  return (
    <p id="export-progress" class="small muted export-progress" role="status" {...(isOver ? {} : live)}>
      {state === null ? null : <Bar state={state} />}
      {progressWords(state, isOver)}
    </p>
  );
}

function Bar({ state: { kind, rowCount, total } }: { state: ExportState }) {
  if (kind !== 'running' || total.atLeast) return null;
  return <progress value={rowCount} max={total.count} aria-label="Export" />;
}

function progressWords(state: ExportState | null, isOver: boolean): string {
  if (state === null) return isOver ? 'Your browser shows how far the download is.' : 'The export begins.';
  const rows = inWhole(state.rowCount);
  switch (state.kind) {
    case 'running':
      return state.total.atLeast
        ? `${rows} refunds so far`
        : `${rows} of ${inWhole(state.total.count)} refunds`;
    case 'complete':
      return `Done: ${countWords({ count: state.rowCount, atLeast: false })} in the file.`;
    case 'broken-off':
      return `Broken off after ${countWords({ count: state.rowCount, atLeast: false })}; the file is not complete. Start it again.`;
  }
}
