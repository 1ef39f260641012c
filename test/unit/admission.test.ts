import Fastify, { type FastifyRequest } from 'fastify';
import { expect, onTestFinished, test } from 'vitest';
import { admit, Bound, openPlaces, startWaiting } from '#api/http/admission.ts';

/** How many places an owner gets that takes as many as it can. */
function fill(bound: Bound, owner: string): number {
  let count = 0;
  for (; bound.admits(owner); count += 1) bound.enter(owner);
  return count;
}

test('each owner gets half of what is free, until about ten have filled a bound', () => {
  const bound = new Bound(800);
  const places = Array.from({ length: 12 }, (_, owner) => fill(bound, `${owner}`));
  expect(places).toEqual([400, 200, 100, 50, 25, 13, 6, 3, 2, 1, 0, 0]);
  expect(bound.isFull).toBe(true);
});

test('a place that is given back can be taken again', () => {
  const bound = new Bound(4);
  expect([fill(bound, 'a'), fill(bound, 'b')]).toEqual([2, 1]);
  bound.leave('a');
  expect(fill(bound, 'a')).toBe(1);
});

test('a bound of one place has it for whoever comes first', () => {
  const bound = new Bound(1);
  expect([fill(bound, 'a'), fill(bound, 'b')]).toEqual([1, 0]);
  expect(bound.isFull).toBe(true);
});

/** An application with places for two that work and two that wait, all of one owner. */
function twoPlaces() {
  const app = Fastify();
  onTestFinished(() => app.close());
  const callers = openPlaces(2, 2);
  admit(app as never, () => ({ places: callers, owner: 'a' }));
  return { app, callers };
}

test('a request that waits holds no place of those that work, nor its headers and a body above 4 KiB', async () => {
  const { app, callers } = twoPlaces();
  const asked: [boolean, FastifyRequest][] = [];
  let answer = () => {};
  app.post('/', async (request) => {
    asked.push([startWaiting(request), request]);
    if (asked.length > 1) return 'now';
    return await new Promise((resolve) => {
      answer = () => resolve('later');
    });
  });
  const of = 'x'.repeat(4096);
  const headers = { authorization: 'Bearer key', 'x-long': 'x'.repeat(8_000) };
  const post = () => app.inject({ method: 'POST', url: '/', headers, payload: { of } });
  const first = post();
  await expect.poll(() => asked.length).toBe(1);
  expect((await post()).body).toBe('now');
  // An owner has half of the places.
  expect(asked.map(([may]) => may)).toEqual([true, false]);
  expect([callers.working.admits('a'), callers.waiting.admits('a')]).toEqual([true, false]);
  const [waiting, working] = asked.map(([, { body, headers: kept, raw }]) => ({
    body,
    names: Object.keys(kept),
    raw: raw.rawHeaders,
  }));
  expect(waiting).toEqual({ body: undefined, names: ['authorization', 'content-length'], raw: [] });
  expect(working).toMatchObject({ body: { of }, names: expect.arrayContaining(['x-long']) });
  answer();
  expect((await first).body).toBe('later');
});

test('a request that a nested instance admits takes no place of the surrounding one', async () => {
  const { app, callers } = twoPlaces();
  const few = openPlaces(1);
  const places = () => [callers.working.admits('a'), few.working.isFull];
  await app.register(async (nested) => {
    admit(nested as never, ({ method }) => (method === 'POST' ? { places: few, owner: 'b' } : null));
    nested.route({ method: ['GET', 'POST'], url: '/', handler: async () => places() });
  });
  expect((await app.inject({ method: 'POST', url: '/' })).json()).toEqual([true, true]);
  expect((await app.inject('/')).json()).toEqual([false, false]);
  few.working.enter('another');
  expect((await app.inject({ method: 'POST', url: '/' })).statusCode).toBe(503);
  expect(callers.working.admits('a')).toBe(true);
});
