/** How much a client may attach to a refund as its metadata; bytes as JSON. */
export const metadataLimits = { keys: 50, keyLength: 40, depth: 10, bytes: 16 * 1024 } as const;

/** Keys that no metadata has, because programs take them for something else. */
export const forbiddenMetadataKeys: readonly string[] = ['__proto__', 'constructor', 'prototype'];
