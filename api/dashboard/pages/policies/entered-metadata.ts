import { entered } from '../../http/forms.ts';

/** What kinds of values metadata can be compared with, in words for people. */
export const metadataKinds = { text: 'the text', number: 'the number', boolean: 'yes or no' } as const;
type MetadataKind = keyof typeof metadataKinds;

/** A line of the form: that a refund's metadata has this value under this name. */
export interface EnteredMetadata {
  key: string;
  kind: MetadataKind;
  value: string;
}

/** A line in which nothing stands yet. */
export const emptyMetadata: EnteredMetadata = { key: '', kind: 'text', value: '' };

/** The lines between the names that begin with `prefix`; those in which nothing stands are left out. */
export function readMetadataRows(body: Record<string, unknown>, prefix: string): EnteredMetadata[] {
  const rows: EnteredMetadata[] = [];
  for (let index = 0; `${prefix}${index}.key` in body; index += 1) {
    const part = (name: string) => entered(body, `${prefix}${index}.${name}`);
    const kind = part('kind');
    const row = { key: part('key'), kind: isKind(kind) ? kind : 'text', value: part('value') } as const;
    if (row.key !== '' || row.value !== '') rows.push(row);
  }
  return rows;
}

function isKind(text: string): text is MetadataKind {
  return Object.hasOwn(metadataKinds, text);
}

/** The lines of what a policy asks for. */
export function metadataOf(metadata: Readonly<Record<string, string | number | boolean>>): EnteredMetadata[] {
  return Object.entries(metadata).map(([key, value]) => {
    if (typeof value === 'boolean') return { key, kind: 'boolean', value: value ? 'yes' : 'no' };
    return { key, kind: typeof value === 'number' ? 'number' : 'text', value: String(value) };
  });
}

const booleans: Readonly<Record<string, boolean>> = { yes: true, true: true, no: false, false: false };

/** What the lines ask for, as it stands in the file of policies. What cannot be read stays the text that it is. */
export function metadataInput(rows: readonly EnteredMetadata[]): Record<string, unknown> | undefined {
  if (rows.length === 0) return undefined;
  return Object.fromEntries(rows.map((row) => [row.key, meantValue(row) ?? row.value]));
}

/** The value that is meant; null when it is not of its kind. */
function meantValue({ kind, value }: EnteredMetadata): string | number | boolean | null {
  if (kind === 'text') return value;
  const text = value.trim().toLowerCase();
  if (kind === 'boolean') return Object.hasOwn(booleans, text) ? (booleans[text] ?? null) : null;
  const number = Number(text);
  return text !== '' && Number.isFinite(number) ? number : null;
}

/** What the form asks for besides the rules of the file: lines that can be read, each of another name. */
export function metadataProblem(rows: readonly EnteredMetadata[]): string | null {
  const unreadable = rows.find((row) => meantValue(row) === null);
  if (unreadable !== undefined) {
    const wanted = unreadable.kind === 'number' ? 'a number' : 'yes or no';
    return `The value of ${JSON.stringify(unreadable.key)} has to be ${wanted}.`;
  }
  const keys = rows.map(({ key }) => key);
  const twice = keys.find((key, index) => keys.indexOf(key) !== index);
  return twice === undefined ? null : `${JSON.stringify(twice)} stands twice.`;
}
