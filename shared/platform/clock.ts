/** Where the service takes its time from, so that tests can hold it. */
export interface Clock {
  now(): Date;
}

export const systemClock: Clock = { now: () => new Date() };

/** Where a database clock takes its times from; tests put others in. */
export interface TimeSources {
  /** The database's time. */
  readDatabaseTime: () => Promise<Date>;
  /** Milliseconds that only ever go forward, wherever they began. */
  monotonicMs?: () => number;
  /** Milliseconds since 1970 as this machine believes. */
  systemMs?: () => number;
}

/** What one look at the database's clock told. */
interface Measurement {
  /** To be added to the monotonic milliseconds. */
  offsetMs: number;
  /** How wrong the offset can be: half of the round trip. */
  errorMs: number;
  /** On the monotonic clock. */
  takenAtMs: number;
}

const remeasureMs = 30_000;

/** How soon a database that has never answered is asked again: until then the time may be far off. */
const firstRetryMs = 1_000;

/** Looks in a row: the first one may have to connect, and the best one is kept. */
const looksAtOnce = 3;

/** What an oscillator may go wrong by: 100 parts in a million. */
const driftPerMs = 0.0001;

/**
 * A clock that goes by the database's, so that all processes agree on what is due whatever their machines believe. It
 * runs on this machine's monotonic time, which nobody can set, plus an offset that is measured again and again. While
 * the database is gone the last offset stands; before the first measurement it is the system's time.
 */
export class DatabaseClock implements Clock {
  readonly #sources: Required<TimeSources>;
  /** Resolves after the first try to measure, whatever came of it; never rejects. */
  readonly started: Promise<void>;
  #best: Measurement | null = null;
  readonly #systemOffsetMs: number;
  #timer: NodeJS.Timeout | null = null;
  #closed = false;

  constructor(sources: TimeSources) {
    this.#sources = { monotonicMs: () => performance.now(), systemMs: () => Date.now(), ...sources };
    this.#systemOffsetMs = this.#sources.systemMs() - this.#sources.monotonicMs();
    this.started = this.#follow();
  }

  now(): Date {
    return new Date(this.#sources.monotonicMs() + (this.#best?.offsetMs ?? this.#systemOffsetMs));
  }

  /** Stops measuring; the time goes on with the last offset. */
  close(): void {
    this.#closed = true;
    if (this.#timer !== null) clearTimeout(this.#timer);
  }

  async #follow(): Promise<void> {
    for (let look = 0; look < looksAtOnce && !this.#closed; look += 1) {
      const measured = await this.#measure().catch(() => null);
      if (measured === null) break;
      this.#best = better(this.#best, measured);
    }
    if (this.#closed) return;
    this.#timer = setTimeout(() => void this.#follow(), this.#best === null ? firstRetryMs : remeasureMs);
    this.#timer.unref();
  }

  /** Between the question and its answer the database looked at its clock; the middle is the best guess when. */
  async #measure(): Promise<Measurement> {
    const askedAtMs = this.#sources.monotonicMs();
    const databaseMs = (await this.#sources.readDatabaseTime()).getTime();
    const takenAtMs = this.#sources.monotonicMs();
    const errorMs = (takenAtMs - askedAtMs) / 2;
    return { offsetMs: databaseMs - (askedAtMs + errorMs), errorMs, takenAtMs };
  }
}

/**
 * The one to go by. A long round trip says little, so it replaces an older measurement only when that one has become
 * as vague through drift, or when both cannot be true: the machine was asleep, or the database's clock was set.
 */
function better(known: Measurement | null, fresh: Measurement): Measurement {
  if (known === null) return fresh;
  const knownErrorMs = known.errorMs + (fresh.takenAtMs - known.takenAtMs) * driftPerMs;
  const contradicts = Math.abs(fresh.offsetMs - known.offsetMs) > knownErrorMs + fresh.errorMs + 1;
  return contradicts || fresh.errorMs <= knownErrorMs ? fresh : known;
}
