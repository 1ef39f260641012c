import { setImmediate } from 'node:timers/promises';
import type { z } from 'zod';
import type { RequestedRow } from '#shared/batches/create-batch.ts';
import { fingerprintOfCreation } from '#shared/refunds/requests/key-requests.ts';
import { idempotencyKeyField, jsonObject } from './fields.ts';
import { creationShape, withAmount } from './refund-creation.ts';

/** A row as it is sent. */
export const rowSchema = withAmount(
  jsonObject({
    ...creationShape,
    idempotencyKey: idempotencyKeyField(
      'The Idempotency-Key of this refund, as of a creation of its own. By default it follows from the Idempotency-Key of the ' +
        'batch and the number of the row.',
    ),
  }),
);

/**
 * Validates the rows of a batch: each as the request for one refund, and that no two have the same idempotency key. Without keys, no two
 * may be equal: a line that was copied by mistake would be paid twice.
 * @param rows as they were sent.
 */
export async function readRows(rows: readonly unknown[]): Promise<RequestedRow[]> {
  const keys = new Map<string, number>();
  const read: RequestedRow[] = [];
  for (const row of rows) {
    // Other requests go on in between. A row with many unknown fields takes a millisecond.
    if (read.length % 20 === 19) await setImmediate();
    read.push(readRow(row, read.length + 1, keys));
  }
  return read;
}

/** @param keys the idempotency keys of earlier rows, or their content, with their numbers. */
function readRow(row: unknown, number: number, keys: Map<string, number>): RequestedRow {
  const { data, error } = rowSchema.safeParse(row);
  if (error !== undefined) return { problem: problemOf(error) };
  // Rows that differ in how they name the account are the same.
  const { idempotencyKey: given, processor: _, account, connectedAccount, options, ...rest } = data;
  const content = Object.keys(options ?? {}).length === 0 ? rest : { ...rest, options };
  // A line break cannot be part of a key that is given.
  const key = given ?? `\n${Buffer.from(fingerprintOfCreation(content)).toString('hex')}`;
  const earlier = keys.get(key);
  if (earlier !== undefined && given !== undefined) {
    return { problem: `idempotencyKey: is the same as in row ${earlier}` };
  }
  if (earlier !== undefined) {
    return {
      problem: `row: is the same as row ${earlier}; to refund both, give each an idempotencyKey of its own`,
    };
  }
  keys.set(key, number);
  return { content: data };
}

function problemOf({ issues }: z.ZodError): string {
  const problems = issues.flatMap((issue) =>
    issue.code === 'unrecognized_keys'
      ? issue.keys.map((key) => `${JSON.stringify(key.slice(0, 40))}: unknown field`)
      : [`${issue.path.length === 0 ? 'row' : issue.path.join('.').slice(0, 40)}: ${issue.message}`],
  );
  return problems.slice(0, 5).join('; ');
}
