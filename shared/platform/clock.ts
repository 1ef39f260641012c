/** The source of the time; tests replace it. */
export interface Clock {
  now(): Date;
}

/** The time sources of a database clock; tests replace them. */
interface TimeSources {
  /** The database's time. */
  readDatabaseTime: () => Promise<Date>;
  monotonicMs?: () => number;
  /** This machine's milliseconds since 1970. */
  systemMs?: () => number;
}

/** One reading of the database's clock, in milliseconds. */
interface Measurement {
  /** Database time minus monotonic time. */
  offsetMs: number;
  /** The largest error of the offset is half of it. */
  roundTripMs: number;
}

/** How often the database's clock is read. */
export const remeasureMs = 30_000;

/** The pause before another try while there is no reading yet. */
const firstRetryMs = 1_000;

/** Readings in a row, of which the best is kept: the first one may have to connect. */
const readingsAtOnce = 3;

/**
 * Follows the database's clock, so that all processes agree on the time even if their machines' clocks differ. It is this
 * machine's monotonic time plus an offset that is measured regularly. While the database is unreachable, the last offset is
 * used; before the first measurement, the machine's time.
 */
export class DatabaseClock implements Clock {
  readonly #sources: Required<TimeSources>;
  /** Resolves after the first attempt to measure, also when it failed; never rejects. */
  readonly started: Promise<void>;
  #offsetMs: number | null = null;
  readonly #systemOffsetMs: number;
  #timer: NodeJS.Timeout | null = null;
  #closed = false;

  constructor(sources: TimeSources) {
    this.#sources = { monotonicMs: () => performance.now(), systemMs: () => Date.now(), ...sources };
    this.#systemOffsetMs = this.#sources.systemMs() - this.#sources.monotonicMs();
    this.started = this.#follow();
  }

  now(): Date {
    return new Date(this.#sources.monotonicMs() + (this.#offsetMs ?? this.#systemOffsetMs));
  }

  /** Stops measuring; `now` goes on with the last offset. */
  close(): void {
    this.#closed = true;
    if (this.#timer !== null) clearTimeout(this.#timer);
  }

  async #follow(): Promise<void> {
    let best: Measurement | null = null;
    for (let count = 0; count < readingsAtOnce && !this.#closed; count += 1) {
      const measured = await this.#measure().catch(() => null);
      if (measured === null) break;
      if (best === null || measured.roundTripMs < best.roundTripMs) best = measured;
      this.#offsetMs = best.offsetMs;
    }
    if (this.#closed) return;
    const pauseMs = this.#offsetMs === null ? firstRetryMs : remeasureMs;
    this.#timer = setTimeout(() => void this.#follow(), pauseMs);
    this.#timer.unref();
  }

  /** The database read its clock between request and reply; the middle is the best estimate. */
  async #measure(): Promise<Measurement> {
    const askedAtMs = this.#sources.monotonicMs();
    const databaseMs = (await this.#sources.readDatabaseTime()).getTime();
    const roundTripMs = this.#sources.monotonicMs() - askedAtMs;
    return { offsetMs: databaseMs - (askedAtMs + roundTripMs / 2), roundTripMs };
  }
}
