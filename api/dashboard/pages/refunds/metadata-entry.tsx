import { z } from 'zod';
import { readStrictJson } from '#api/http/strict-json.ts';
import { checkMetadata } from '#shared/refund-request/metadata.ts';
import { HiddenFields } from '../../components/form.tsx';
import { HintAndProblem, useEntries } from '../../components/inputs.tsx';
import { useMember } from '../../http/access.ts';
import { entered, enteredList } from '../../http/forms.ts';
import { metadataText, namedColumns } from './metadata-columns.tsx';

type Metadata = Record<string, unknown>;

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
    if (given.has(key)) return `Enter ${key} once.`;
    if (text === '') all.delete(key);
    else given.add(key);
    if (text !== '' && lineOf(key, all.get(key)) !== text) all.set(key, text);
  }
  const metadata = Object.fromEntries(all);
  return all.size === 0 ? null : (checkMetadata(metadata) ?? metadata);
}

/** Without rows that are empty. */
function pairsOf(keys: readonly string[], values: readonly string[]): [key: string, text: string][] {
  const pairs = keys.map((key, index): [string, string] => [key.trim(), values[index]?.trim() ?? '']);
  return pairs.filter(([key, text]) => key !== '' || text !== '');
}

/** A value that fits into a field, as it is shown there; null for others, such as lists. */
function lineOf(key: string, value: unknown): string | null {
  const text = metadataText({ [key]: value }, [key]);
  return text === null || /[\r\n]/.test(`${key}${text}`) || key !== key.trim() ? null : text.trim();
}

/** A text says what is wrong. */
function readMetadata(text: string): Metadata | null | string {
  if (text.trim() === '') return null;
  const reading = readStrictJson(text);
  if (reading.kind === 'invalid') return reading.problem;
  const { value } = reading;
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return 'must be an object';
  return checkMetadata(value as Metadata) ?? (value as Metadata);
}

/** For further keys. */
const freeRows = [['', ''] as const, ['', ''] as const, ['', ''] as const];

/** Fields for the columns of the organization, for what an earlier refund has, and rows for further keys. */
export function MetadataFields() {
  const { body, problems } = useEntries();
  const { refundColumns } = useMember().organization;
  const reading = readMetadata(entered(body, 'metadata'));
  const kept = typeof reading === 'string' || reading === null ? {} : reading;
  const submitted = pairsOf(enteredList(body, 'metadataKey'), enteredList(body, 'metadataValue'));
  const { fields, rest } = fieldsOf(kept, refundColumns);
  const free = submitted.filter(([key]) => !fields.some((field) => field.key === key));
  const textOf = (key: string) => new Map(submitted).get(key) ?? lineOf(key, kept[key]) ?? '';
  return (
    <fieldset class="field" aria-describedby="metadata-hint metadata-problem">
      <legend class="label">Metadata (optional)</legend>
      <HiddenFields values={{ metadata: entered(body, 'metadata') }} />
      <div class="fields">
        {fields.map(({ title, key }, index) => (
          <div key={key}>
            <HiddenFields values={{ metadataKey: key }} />
            <Entry id={`metadata-${index}`} name="metadataValue" label={title} value={textOf(key)} />
          </div>
        ))}
      </div>
      {rest.length === 0 ? null : <p class="small">Not changed here: {rest.join(', ')}</p>}
      <details class="more" open={free.length > 0}>
        <summary>More metadata</summary>
        <div class="stack">
          {[...free, ...freeRows].map(([key, text], row) => (
            <div key={row} class="fields">
              <Entry id={`metadata-name-${row}`} name="metadataKey" label="Name" value={key} />
              <Entry id={`metadata-value-${row}`} name="metadataValue" label="Value" value={text} />
            </div>
          ))}
        </div>
      </details>
      <HintAndProblem
        name="metadata"
        hint="Stored with the refund. Do not include card numbers."
        problem={problems.metadata}
      />
    </fieldset>
  );
}

/** The fields with their keys: the columns of the organization, and what an earlier refund has; and the keys of what fits into none. */
function fieldsOf(kept: Metadata, refundColumns: readonly string[]) {
  const keys = Object.keys(kept);
  const rest = keys.filter((key) => lineOf(key, kept[key]) === null);
  const columns = namedColumns(refundColumns)
    .map(({ title, keys: named }) => ({
      title,
      key: named.find((key) => keys.includes(key)) ?? named[0] ?? '',
    }))
    .filter(({ key }) => !rest.includes(key));
  const others = keys.filter((key) => !rest.includes(key) && !columns.some((column) => column.key === key));
  return { fields: [...columns, ...others.map((key) => ({ title: key, key }))], rest };
}

type EntryProps = Readonly<Record<'id' | 'name' | 'label' | 'value', string>>;

/** Its name repeats, so it has an id of its own. */
function Entry({ id, name, label, value }: EntryProps) {
  return (
    <div class="field">
      <label for={id}>{label}</label>
      <input {...{ id, name, value }} type="text" autocomplete="off" />
    </div>
  );
}
