import { expect, test } from 'vitest';
import { Room } from '../../api/http/room.ts';

/** How many places an owner gets that takes as many as it can. */
function fill(room: Room, owner: string): number {
  let count = 0;
  for (; room.admits(owner); count += 1) room.enter(owner);
  return count;
}

test('an owner gets half of a room, and each newcomer still finds places', () => {
  const room = new Room(40);
  expect(['a', 'b', 'c'].map((owner) => fill(room, owner))).toEqual([20, 10, 5]);
  expect(room.isFull).toBe(false);
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
