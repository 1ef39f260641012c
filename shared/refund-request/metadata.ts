import { holdsStorableTexts, unstorableMessage } from '../platform/formats/json.ts';

/**
 * The limits of a refund's metadata; bytes as JSON. Values include those in lists and objects, which take more memory than their
 * text.
 */
export const metadataLimits = {
  keys: 50,
  keyLength: 40,
  depth: 10,
  values: 1_000,
  bytes: 16 * 1024,
} as const;

/** Metadata keys that are refused, because they could change the prototype of an object. */
export const forbiddenMetadataKeys: readonly string[] = ['__proto__', 'constructor', 'prototype'];

/** What is wrong with metadata, as the end of a sentence that begins with its name; null when nothing is. */
export function checkMetadata(metadata: Record<string, unknown>): string | null {
  const keys = Object.keys(metadata);
  if (keys.length > metadataLimits.keys) return `must have at most ${metadataLimits.keys} keys`;
  if (keys.some((key) => key.length < 1 || key.length > metadataLimits.keyLength)) {
    return `keys must have 1 to ${metadataLimits.keyLength} characters`;
  }
  const problem = checkParts(metadata);
  if (problem !== null) return problem;
  if (!holdsStorableTexts(metadata)) return unstorableMessage;
  const bytes = Buffer.byteLength(JSON.stringify(metadata));
  return bytes > metadataLimits.bytes ? `must have at most ${metadataLimits.bytes} bytes as JSON` : null;
}

/** Iterative, so that nesting cannot exhaust the stack. */
function checkParts(metadata: Record<string, unknown>): string | null {
  const open: { value: unknown; depth: number }[] = [{ value: metadata, depth: 1 }];
  let parts = 0;
  for (let part = open.pop(); part !== undefined; part = open.pop()) {
    const { value, depth } = part;
    // The metadata itself is none.
    if (parts > metadataLimits.values) return `must have at most ${metadataLimits.values} values`;
    parts += 1;
    if (typeof value !== 'object' || value === null) continue;
    if (depth > metadataLimits.depth) return `must not be nested deeper than ${metadataLimits.depth} levels`;
    for (const [key, child] of Object.entries(value)) {
      if (forbiddenMetadataKeys.includes(key)) return `must not have a key ${key}`;
      open.push({ value: child, depth: depth + 1 });
    }
  }
  return null;
}
