import { z } from 'zod';
import { readStrictJson } from '#api/http/strict-json.ts';
import { checkMetadata } from '#shared/refund-request/metadata.ts';
import { metadataText } from './metadata-columns.tsx';

export type Metadata = Record<string, unknown>;

const texts = z
  .union([z.string(), z.array(z.string())])
  .default([])
  .transform((entries) => [entries].flat());

/** What an earlier refund has, as JSON, and the fields: a key and a value each, in their order. */
export const metadataFields = {
  metadata: z
    .string()
    .default('')
    .transform((text, context): Metadata | null => {
      const reading = readMetadata(text);
      if (typeof reading !== 'string') return reading;
      context.addIssue({ code: 'custom', message: reading });
      return z.NEVER;
    }),
  metadataKey: texts,
  metadataValue: texts,
};

interface MetadataEntries {
  metadata: Metadata | null;
  metadataKey: readonly string[];
  metadataValue: readonly string[];
}

/** The metadata of a form, null for none; a text says what is wrong with it. A value that was not changed keeps its type. */
export function metadataOf(entries: MetadataEntries): Metadata | null | string {
  const all = new Map(Object.entries(entries.metadata ?? {}));
  const given = new Set<string>();
  for (const [key, text] of pairsOf(entries.metadataKey, entries.metadataValue)) {
    if (key === '') return 'Enter a name for each value.';
    if (given.has(key)) return `Enter the name ${key} only once.`;
    given.add(key);
    const line = all.has(key) ? lineOf(key, all.get(key)) : '';
    if (line === null) return `The value of ${key} is not changed here. Enter another name.`;
    if (text === line) continue;
    if (text === '') all.delete(key);
    else all.set(key, text);
  }
  const metadata = Object.fromEntries(all);
  return all.size === 0 ? null : (checkMetadata(metadata) ?? metadata);
}

/** The rows of a form, trimmed, without those that are empty. */
export function pairsOf(keys: readonly string[], values: readonly string[]): [key: string, text: string][] {
  const pairs = keys.map((key, index): [string, string] => [key.trim(), values[index]?.trim() ?? '']);
  return pairs.filter(([key, text]) => key !== '' || text !== '');
}

/** A value that fits into a field, as it is shown there; null for others, such as lists. */
export function lineOf(key: string, value: unknown): string | null {
  const text = metadataText({ [key]: value }, [key]);
  return text === null || /[\r\n]/.test(`${key}${text}`) || key !== key.trim() ? null : text.trim();
}

/** The metadata of a JSON text, null for none; a text says what is wrong with it. */
export function readMetadata(text: string): Metadata | null | string {
  if (text.trim() === '') return null;
  const reading = readStrictJson(text);
  if (reading.kind === 'invalid') return reading.problem;
  const { value } = reading;
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return 'must be an object';
  return checkMetadata(value as Metadata) ?? (value as Metadata);
}
