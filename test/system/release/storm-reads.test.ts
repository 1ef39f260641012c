import { expect, test, vi } from 'vitest';
import { changingOperations, useStorm } from '../../support/storm/use-storm.ts';

vi.setConfig({ testTimeout: 900_000 });

const storm = useStorm();

test('any request to another operation gets a documented answer and changes nothing', async () => {
  const before = await storm.exposed.rowCounts();
  const others = storm.served.operations
    .map(({ operation }) => operation.operationId as string)
    .filter((operationId) => !changingOperations.includes(operationId));
  expect(others.length).toBeGreaterThan(0);
  for (const operationId of others) {
    const { outcomes, enough } = await storm.strike(operationId);
    expect(outcomes['200'], operationId).toBeGreaterThan(enough);
  }
  const after = await storm.exposed.rowCounts();
  expect({ ...after, payment: before.payment }).toEqual(before);
});
