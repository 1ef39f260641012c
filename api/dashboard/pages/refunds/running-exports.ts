import type { ServerResponse } from 'node:http';
import { Readable } from 'node:stream';
import { ServiceError } from '../../../../shared/platform/errors.ts';
import type { ExportObserver } from '../../../../shared/refunds/queries/export-refunds.ts';
import type { CappedCount } from '../../../../shared/refunds/queries/search-refunds.ts';

export interface ExportState {
  kind: 'running' | 'complete' | 'incomplete';
  rowCount: number;
  /** The number of refunds when it started. */
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

interface Reader {
  userId: string;
  organizationId: string;
}

const retryAfterSeconds = 30;

/** Limits the exports of this process and remembers the latest ones, by a name that only their reader knows. */
export class RunningExports {
  readonly #states = new Map<string, ExportState>();
  readonly #running = new Set<Reader>();
  readonly #limits: ExportLimits;

  constructor(limits = defaultLimits) {
    this.#limits = limits;
  }

  /**
   * Starts an export, which counts against the limits until the observer's first `onEnd`.
   * @param count counts the refunds; called only when the limits allow the export.
   * @throws ServiceError rate_limited when they do not.
   */
  async begin(reader: Reader, name: string, count: () => Promise<CappedCount>): Promise<ExportObserver> {
    this.#refuseTooMany(reader);
    const place = { ...reader };
    this.#running.add(place);
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
        if (state.kind !== 'running') return;
        state.kind = isComplete ? 'complete' : 'incomplete';
        this.#running.delete(place);
      },
    };
  }

  find(name: string): ExportState | null {
    return this.#states.get(name) ?? null;
  }

  #refuseTooMany({ userId, organizationId }: Reader): void {
    const { perPerson, perOrganization, inAll } = this.#limits;
    const running = [...this.#running];
    const own = running.filter((each) => each.userId === userId).length;
    if (own >= perPerson) {
      throw tooMany(
        `You already have ${own} exports running. Wait for one to finish or cancel its download, then export again.`,
      );
    }
    const ofOrganization = running.filter((each) => each.organizationId === organizationId).length;
    if (ofOrganization >= perOrganization || running.length >= inAll) {
      throw tooMany('Too many exports are running. Try again in 30 seconds.');
    }
  }

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

/** Network buffers hold megabytes, which a slow client may take minutes to empty before it reads more from here. */
const defaultStallMs = 300_000;

/** The downloads of this process. A client that stops reading must hold up neither the limits nor the shutdown. */
export class ExportDeliveries {
  readonly #responses = new Set<ServerResponse>();
  readonly #ends = new Set<Promise<void>>();
  readonly #stallMs: number;

  /** @param stallMs a download of which nothing is read for this long is aborted. */
  constructor(stallMs = defaultStallMs) {
    this.#stallMs = stallMs;
  }

  /** A stream of the pieces for this response. It is read as fast as the client reads, and ends with the response. */
  deliver(response: ServerResponse, pieces: AsyncIterable<string>): Readable {
    // Destroys the response: the stream may already have ended while the client has not read its last part.
    const stalled = setTimeout(() => response.destroy(), this.#stallMs);
    const stream = Readable.from(
      slicesOf(pieces, () => stalled.refresh()),
      { highWaterMark: 1 },
    );
    this.#responses.add(response);
    const end = () => {
      clearTimeout(stalled);
      this.#responses.delete(response);
      stream.destroy();
    };
    if (response.closed) end();
    else response.once('close', end);
    const ended = new Promise<void>((resolve) => stream.once('close', resolve));
    this.#ends.add(ended);
    ended.then(() => this.#ends.delete(ended));
    return stream;
  }

  /** Aborts all downloads. */
  abort(): void {
    for (const response of this.#responses) response.destroy();
  }

  /** Resolves when all downloads have ended and the audit log has that. */
  async ended(): Promise<void> {
    await Promise.all(this.#ends);
  }
}

/** Small enough for any active client to read one in time; a piece may have megabytes. */
const sliceBytes = 16 * 1024;

async function* slicesOf(
  pieces: AsyncIterable<string>,
  onTaken: () => void,
): AsyncGenerator<Buffer, void, undefined> {
  for await (const piece of pieces) {
    const bytes = Buffer.from(piece);
    for (let from = 0; from < bytes.length; from += sliceBytes) {
      yield bytes.subarray(from, from + sliceBytes);
      onTaken();
    }
  }
}
