import { ServiceError } from '../../../../shared/platform/errors.ts';
import type { ExportObserver } from '../../../../shared/refunds/queries/export-refunds.ts';
import type { CappedCount } from '../../../../shared/refunds/queries/search-refunds.ts';

/** How far an export is. */
export interface ExportState {
  kind: 'running' | 'complete' | 'broken-off';
  rowCount: number;
  /** How many there were at its beginning. */
  total: CappedCount;
}

/** How many exports of this process may run at a time, and how many are remembered. */
export interface ExportLimits {
  perPerson: number;
  perOrganization: number;
  inAll: number;
  remembered: number;
}

const defaultLimits: ExportLimits = { perPerson: 2, perOrganization: 4, inAll: 8, remembered: 1_000 };

/** Whose export it is. */
interface Reader {
  userId: string;
  organizationId: string;
}

/** After so long it is worth asking again. */
const retryAfterSeconds = 30;

/**
 * The exports of this process that began last, by a name that only the person who asked for it knows. Another process
 * knows nothing of them, and nor does this one after a while; then the browser alone shows how far a download is.
 */
export class RunningExports {
  readonly #states = new Map<string, ExportState>();
  /** Those that run. */
  readonly #running = new Set<Reader>();
  readonly #limits: ExportLimits;

  constructor(limits = defaultLimits) {
    this.#limits = limits;
  }

  /**
   * Takes one of the places of a person, of the organization and of the process, until the first end that the observer is told.
   * @param count asked for how many there are once there is a place.
   * @throws ServiceError rate_limited when there is none.
   */
  async begin(reader: Reader, name: string, count: () => Promise<CappedCount>): Promise<ExportObserver> {
    const place = this.#take(reader);
    const total = await count().catch((error: unknown) => {
      this.#running.delete(place);
      throw error;
    });
    const state: ExportState = { kind: 'running', rowCount: 0, total };
    this.#remember(name, state);
    return {
      onRows: (rowCount) => {
        state.rowCount += rowCount;
      },
      onEnd: (isComplete) => {
        // The first word counts.
        if (state.kind !== 'running') return;
        state.kind = isComplete ? 'complete' : 'broken-off';
        this.#running.delete(place);
      },
    };
  }

  find(name: string): ExportState | null {
    return this.#states.get(name) ?? null;
  }

  #take({ userId, organizationId }: Reader): Reader {
    const { perPerson, perOrganization, inAll } = this.#limits;
    const running = [...this.#running];
    const own = running.filter((each) => each.userId === userId).length;
    if (own >= perPerson) {
      throw tooMany(
        `${own} exports of yours are running already. Wait until one is complete, or cancel its download in your browser, and export again.`,
      );
    }
    const ofOrganization = running.filter((each) => each.organizationId === organizationId).length;
    if (ofOrganization >= perOrganization || running.length >= inAll) {
      throw tooMany('Too many exports are running just now. Export again in half a minute.');
    }
    const place = { userId, organizationId };
    this.#running.add(place);
    return place;
  }

  /** In the place of one that had its name before; the oldest is forgotten for it. */
  #remember(name: string, state: ExportState): void {
    this.#states.delete(name);
    this.#states.set(name, state);
    for (const oldest of this.#states.keys()) {
      if (this.#states.size <= this.#limits.remembered) break;
      this.#states.delete(oldest);
    }
  }
}

function tooMany(message: string): ServiceError {
  return new ServiceError('rate_limited', message, { retryAfterSeconds });
}
