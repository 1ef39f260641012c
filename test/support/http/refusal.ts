import { expect } from 'vitest';
import { errorCatalogue } from '#shared/platform/errors.ts';
import type { RawAnswer } from './raw-http.ts';

const internals = /prisma|zod|fastify|FST_|lossless|postgres|\bSQL\b|node_modules|\.[jt]s:\d|\n\s+at /i;

/** Holds an error answer against its one shape: status, code, a message for people, a request id, nothing internal. */
export function expectRefusal(answer: RawAnswer, expected: { status: number; code: string }): void {
  const told = answer.raw.slice(0, 2_000);
  const body = JSON.parse(answer.text);
  expect({ status: answer.status, code: body.error?.code }, told).toEqual(expected);
  expect(body, told).toEqual({ error: { message: expect.stringMatching(/\S/), code: expect.any(String) } });
  expect(errorCatalogue, told).toHaveProperty(
    body.error.code,
    expect.objectContaining({ status: answer.status }),
  );
  expect(answer.headers['content-type']).toMatch(/^application\/json/);
  expect(body.error.message).not.toMatch(internals);
}
