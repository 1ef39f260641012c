import { z } from 'zod';

/** A form with keys of metadata, which are entered with commas between them. */
export function metadataKeysForm(description: string) {
  const keys = z
    .string()
    .default('')
    .transform((text) => text.split(',').flatMap((key) => key.trim() || []))
    .meta({ title: 'Metadata keys', description });
  return z.object({ keys });
}
