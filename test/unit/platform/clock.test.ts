import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { DatabaseClock } from '#shared/platform/clock.ts';

const hour = 60 * 60 * 1000;
const noon = Date.parse('2026-03-01T12:00:00Z');

/** A machine and a database, each with a clock of its own, and a road between them that takes its time. */
class World {
  monotonicMs = 5_000;
  systemMs = noon;
  databaseAheadMs = 0;
  /** How the next questions fare; afterwards there and back take a millisecond each. */
  answers: [thereMs: number, backMs: number][] = [];
  reachable = true;

  pass(ms: number): void {
    this.monotonicMs += ms;
    this.systemMs += ms;
  }

  databaseMs(): number {
    return noon + this.monotonicMs - 5_000 + this.databaseAheadMs;
  }

  clock(): DatabaseClock {
    return new DatabaseClock({
      monotonicMs: () => this.monotonicMs,
      systemMs: () => this.systemMs,
      readDatabaseTime: async () => {
        if (!this.reachable) throw new Error('gone');
        const [thereMs, backMs] = this.answers.shift() ?? [1, 1];
        this.pass(thereMs);
        const told = new Date(this.databaseMs());
        this.pass(backMs);
        return told;
      },
    });
  }
}

describe('a clock that follows the database', () => {
  let world: World;
  let clock: DatabaseClock | null = null;

  beforeEach(() => {
    // Timers alone: what time it is comes from the world.
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    world = new World();
  });
  afterEach(() => {
    clock?.close();
    expect(vi.getTimerCount()).toBe(0);
    vi.useRealTimers();
  });

  async function started(): Promise<DatabaseClock> {
    clock = world.clock();
    await clock.started;
    return clock;
  }

  /** How far the clock is from the database's. */
  const errorMs = (asked: DatabaseClock) => asked.now().getTime() - world.databaseMs();

  async function pass(ms: number): Promise<void> {
    world.pass(ms);
    await vi.advanceTimersByTimeAsync(ms);
  }

  test.each([1, -1])('is right on a machine whose clock is %i hour off', async (hours) => {
    world.systemMs += hours * hour;
    const asked = await started();
    expect(errorMs(asked)).toBe(0);
    world.pass(20_000);
    expect(errorMs(asked)).toBe(0);
  });

  test('uses the time of its machine until the database is reachable, and is right a second later', async () => {
    world.systemMs += hour;
    world.reachable = false;
    const asked = await started();
    expect(errorMs(asked)).toBe(hour);
    await pass(60_000);
    expect(errorMs(asked)).toBe(hour);
    world.reachable = true;
    await pass(1_000);
    expect(errorMs(asked)).toBe(0);
  });

  test('keeps the last measurement while the database is unreachable', async () => {
    world.systemMs += hour;
    const asked = await started();
    world.reachable = false;
    await pass(10 * hour);
    expect(errorMs(asked)).toBe(0);
  });

  test('prefers a measurement with a short round trip', async () => {
    const asked = await started();
    world.answers = [
      [0, 9_000],
      [1, 1],
      [0, 500],
    ];
    await pass(30_000);
    expect(world.answers).toEqual([]);
    expect(Math.abs(errorMs(asked))).toBeLessThanOrEqual(1);
  });

  test('follows a database whose clock was set', async () => {
    const asked = await started();
    world.databaseAheadMs += hour;
    await pass(30_000);
    expect(errorMs(asked)).toBe(0);
  });

  test('stops measuring when it is closed', async () => {
    const asked = await started();
    asked.close();
    world.answers = [[1, 1]];
    await pass(hour);
    expect(world.answers).toHaveLength(1);
  });
});
