import type { ExportObserver } from '../../../../shared/refunds/audited-export.ts';
import type { CappedCount } from '../../../../shared/refunds/search-refunds.ts';

/** How far an export is. */
export interface ExportState {
  kind: 'running' | 'complete' | 'broken-off';
  rowCount: number;
  /** How many there were at its beginning. */
  total: CappedCount;
}

/**
 * The exports of this process that began last, by a name that only the person who asked for it knows. Another process
 * knows nothing of them, and nor does this one after a while; then the browser alone shows how far a download is.
 */
export class RunningExports {
  readonly #states = new Map<string, ExportState>();
  readonly #most: number;

  /** @param most are remembered; the oldest is forgotten for the next. */
  constructor(most: number) {
    this.#most = most;
  }

  /** Remembers an export that begins, in the place of one that had its name before. */
  begin(name: string, total: CappedCount): ExportObserver {
    const state: ExportState = { kind: 'running', rowCount: 0, total };
    this.#states.delete(name);
    this.#states.set(name, state);
    for (const oldest of this.#states.keys()) {
      if (this.#states.size <= this.#most) break;
      this.#states.delete(oldest);
    }
    return {
      onRows: (rowCount) => {
        state.rowCount += rowCount;
      },
      onEnd: (isComplete) => {
        // The first word counts.
        if (state.kind === 'running') state.kind = isComplete ? 'complete' : 'broken-off';
      },
    };
  }

  find(name: string): ExportState | null {
    return this.#states.get(name) ?? null;
  }
}
