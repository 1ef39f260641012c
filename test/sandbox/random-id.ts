import { randomUUID } from 'node:crypto';

/** @param length of the random part, at most 32. */
export function randomId(prefix: string, length: number): string {
  return prefix + randomUUID().replaceAll('-', '').slice(0, length);
}
