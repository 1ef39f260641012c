import { onTestFinished, vi } from 'vitest';
import type { Clock } from '#shared/platform/clock.ts';
import type { Database } from '#shared/platform/database.ts';

/**
 * The time of a service and of its database, which stands still until a test advances it. Only for a database that no
 * other test uses.
 */
export class HeldTime implements Clock {
  #now = new Date();

  now(): Date {
    return this.#now;
  }

  /**
   * Stops the time.
   * @param db as the owner of its functions.
   */
  async hold(db: Database): Promise<void> {
    await this.advance(db, 0);
  }

  async advance(db: Database, ms: number): Promise<void> {
    this.#now = new Date(this.#now.getTime() + ms);
    await db.$executeRawUnsafe(
      `CREATE OR REPLACE FUNCTION service_time() RETURNS timestamptz
       LANGUAGE sql VOLATILE AS $$ SELECT timestamptz '${this.#now.toISOString()}' $$`,
    );
  }
}

/** This machine's time. It sends no statements, unlike that of the database: for tests that count them. */
export const systemClock: Clock = { now: () => new Date() };

/** Until the end of the test, no second or minute ends by which requests are limited. */
export function holdRateLimits(): void {
  const clock = vi.spyOn(Date, 'now').mockReturnValue(Date.now());
  onTestFinished(() => clock.mockRestore());
}
