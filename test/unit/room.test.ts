import { expect, test } from 'vitest';
import { Room } from '#api/http/room.ts';

/** How many places an owner gets that takes as many as it can. */
function fill(room: Room, owner: string): number {
  let count = 0;
  for (; room.admits(owner); count += 1) room.enter(owner);
  return count;
}

test('each owner gets half of what is free, until about ten have filled a room', () => {
  const room = new Room(800);
  const places = Array.from({ length: 12 }, (_, owner) => fill(room, `${owner}`));
  expect(places).toEqual([400, 200, 100, 50, 25, 13, 6, 3, 2, 1, 0, 0]);
  expect(room.isFull).toBe(true);
});

test('a place that is given back can be taken again', () => {
  const room = new Room(4);
  expect([fill(room, 'a'), fill(room, 'b')]).toEqual([2, 1]);
  room.leave('a');
  expect(fill(room, 'a')).toBe(1);
});

test('a room of one place has it for whoever comes first', () => {
  const room = new Room(1);
  expect([fill(room, 'a'), fill(room, 'b')]).toEqual([1, 0]);
  expect(room.isFull).toBe(true);
});
