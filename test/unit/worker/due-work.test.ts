import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { type DueWork, openDueWork } from '#worker/advance/due-work.ts';
import { waitFor } from '../../support/wait-for.ts';

/** Work that lasts until the test ends it, with `places` of 2. */
class Scene {
  readonly due: string[] = [];
  /** Whether more is due that cannot be claimed yet. */
  isWaiting = false;
  /** What each look asked for. */
  readonly asked: number[] = [];
  readonly underWay = new Map<string, (error?: Error) => void>();
  readonly warnings: unknown[] = [];
  /** What the next look waits for. */
  hold = async (): Promise<void> => {};

  /** Holds the looks from now on; returns what releases them. */
  holdLooks(): () => void {
    let release = () => {};
    const held = new Promise<void>((resolve) => {
      release = resolve;
    });
    this.hold = () => held;
    return () => release();
  }

  readonly work: DueWork = openDueWork<string>({
    places: 2,
    claimDue: async (most) => {
      this.asked.push(most);
      const found = this.due.splice(0, most);
      await this.hold();
      const claims = found.filter((name) => name !== 'throttled');
      return { claims, isMore: found.length === most, isWaiting: this.isWaiting };
    },
    work: (name) =>
      new Promise((resolve, reject) => {
        this.underWay.set(name, (error) => {
          this.underWay.delete(name);
          if (error === undefined) resolve();
          else reject(error);
        });
      }),
    warn: (error) => this.warnings.push(error),
  });

  async end(name: string, error?: Error): Promise<void> {
    this.underWay.get(name)?.(error);
    await new Promise((resolve) => setTimeout(resolve, 5));
  }

  get names(): string[] {
    return [...this.underWay.keys()];
  }
}

describe('what is due', () => {
  test('is started as far as there are places, and the rest as they become free', async () => {
    const scene = new Scene();
    scene.due.push('a', 'b', 'c');
    expect(await scene.work.look()).toBe(true);
    expect(scene.names).toEqual(['a', 'b']);
    expect(await scene.work.look()).toBe(true);
    await scene.end('a');
    await waitFor('the rest', () => scene.names.includes('c'));
    expect(scene.names).toEqual(['b', 'c']);
    expect(scene.asked).toEqual([2, 1]);
  });

  test('is looked for again at once when what was found was postponed', async () => {
    const scene = new Scene();
    scene.due.push('throttled', 'throttled', 'a');
    expect(await scene.work.look()).toBe(false);
    expect(scene.names).toEqual(['a']);
    expect(scene.asked).toEqual([2, 2]);
  });

  test('is looked for again as work ends while more of it waits, which keeps no wake-up', async () => {
    const scene = new Scene();
    scene.due.push('a');
    scene.isWaiting = true;
    expect(await scene.work.look()).toBe(false);
    scene.due.push('b');
    scene.isWaiting = false;
    await scene.end('a');
    await waitFor('what waited', () => scene.names.includes('b'));
    await scene.end('b');
    expect(scene.asked).toEqual([2, 2]);
  });

  test('is looked for again soon after a claim that left some of it waiting, though nothing ends', async () => {
    const scene = new Scene();
    scene.isWaiting = true;
    scene.due.push('a');
    await scene.work.look();
    scene.due.push('b');
    await waitFor('what waited', () => scene.names.includes('b'));
    expect(scene.asked).toEqual([2, 1]);
  });

  test('is looked for four times a second while nothing of it can be claimed', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    onTestFinished(() => void vi.useRealTimers());
    const scene = new Scene();
    scene.isWaiting = true;
    await scene.work.look();
    await vi.advanceTimersByTimeAsync(1_000);
    expect(scene.asked).toEqual([2, 2, 2, 2, 2]);
  });

  test('is looked for once more after calls during a look', async () => {
    const scene = new Scene();
    const release = scene.holdLooks();
    const looks = [scene.work.look()];
    await waitFor('the look', () => scene.asked.length === 1);
    scene.due.push('late');
    looks.push(scene.work.look(), scene.work.look());
    release();
    expect(await Promise.all(looks)).toEqual([false, false, false]);
    expect(scene.names).toEqual(['late']);
    expect(scene.asked).toEqual([2, 2]);
  });

  test('gets the place of work that failed, which is reported', async () => {
    const scene = new Scene();
    scene.due.push('a', 'b', 'c');
    await scene.work.look();
    const error = new Error('It failed.');
    await scene.end('a', error);
    await waitFor('the rest', () => scene.names.includes('c'));
    expect(scene.warnings).toEqual([error]);
  });
});

test('a look that fails is an error of its callers, and the next one is made', async () => {
  const scene = new Scene();
  scene.due.push('a');
  scene.hold = async () => {
    throw new Error('gone');
  };
  await expect(scene.work.look()).rejects.toThrow('gone');
  scene.hold = async () => {};
  scene.due.push('b');
  expect(await scene.work.look()).toBe(false);
  expect(scene.names).toEqual(['b']);
});

test('closing waits for what a look under way still starts', async () => {
  const scene = new Scene();
  const release = scene.holdLooks();
  scene.due.push('a');
  const looked = scene.work.look();
  await waitFor('the look', () => scene.asked.length === 1);
  let isClosed = false;
  const closed = scene.work.close().then(() => {
    isClosed = true;
  });
  release();
  await looked;
  await waitFor('the work', () => scene.names.includes('a'));
  expect(isClosed).toBe(false);
  await scene.end('a');
  await closed;
});

test('it is caught up once a look finds less than it asked for, and when it closes', async () => {
  const scene = new Scene();
  await scene.work.untilCaughtUp();
  scene.due.push('a', 'b');
  await scene.work.look();
  const ends: string[] = [];
  const waiting = scene.work.untilCaughtUp().then(() => ends.push('caught up'));
  await scene.end('b', undefined);
  await waiting;
  scene.due.push('c');
  await scene.work.look();
  const waitingAgain = scene.work.untilCaughtUp().then(() => ends.push('closed'));
  const closed = scene.work.close().then(() => ends.push('idle'));
  await waitingAgain;
  expect(ends).toEqual(['caught up', 'closed']);
  await scene.end('a');
  await scene.end('c');
  await closed;
  expect(await scene.work.look()).toBe(true);
  expect(scene.asked).toEqual([2, 1, 1]);
});
