import { randomFillSync } from 'node:crypto';

const ALPHABET = 'abcdefghijklmnopqrstuvwxyz0123456789';

export function randomId(prefix: string, length: number): string {
  let id = prefix;
  for (const byte of takeRandomBytes(length)) id += ALPHABET[byte % ALPHABET.length];
  return id;
}

/** Random bytes are cheaper in large amounts. */
const pool = Buffer.alloc(4096);
let poolUsed = pool.length;

function takeRandomBytes(length: number): Buffer {
  if (poolUsed + length > pool.length) {
    randomFillSync(pool);
    poolUsed = 0;
  }
  poolUsed += length;
  return pool.subarray(poolUsed - length, poolUsed);
}
