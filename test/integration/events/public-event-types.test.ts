import { expect, expectTypeOf, test } from 'vitest';
import {
  type PublicEventType,
  publicEventTypes,
  type RefundEventType,
} from '#shared/refunds/model/event-types.ts';
import { useDatabase } from '../../support/stores/database.ts';
import { query } from '../../support/stores/database-client.ts';

const databaseUrl = useDatabase();

test('every public type begins with refund., and no other does', () => {
  expect(publicEventTypes.filter((type) => !type.startsWith('refund.'))).toEqual([]);
  type Internal = Exclude<RefundEventType, PublicEventType>;
  expectTypeOf<Extract<Internal, `refund.${string}`>>().toBeNever();
});

test.each([
  ...publicEventTypes.map((type) => [type, true] as const),
  ...(['attempt.accepted', 'cancel.requested', 'flag.dismissed'] as const).map(
    (type) => [type, false] as const,
  ),
])('the database takes %s for public: %s', async (type, isPublic) => {
  const [row] = await query(databaseUrl(), `select is_public_event('${type}') as answer`);
  expect(row).toEqual({ answer: isPublic });
});
