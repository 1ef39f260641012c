import type { Clock } from '../../shared/clock.ts';

/** A clock that goes like the system's and can be put forward. */
export class ShiftedClock implements Clock {
  #aheadMs = 0;

  now(): Date {
    return new Date(Date.now() + this.#aheadMs);
  }

  advance(ms: number): void {
    this.#aheadMs += ms;
  }
}
