import { HiddenFields } from '../../components/form.tsx';
import { HintAndProblem, useEntries } from '../../components/inputs.tsx';
import { useMember } from '../../http/access.ts';
import { entered, enteredList } from '../../http/forms.ts';
import { namedColumns } from './metadata-columns.tsx';
import { lineOf, type Metadata, pairsOf, readMetadata } from './metadata-entry.ts';

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
  const ownPairs = fields.map(({ key }) => submitted.find(([each]) => each === key));
  const free = submitted.filter((pair) => !ownPairs.includes(pair));
  return (
    <fieldset class="field" aria-describedby="metadata-hint metadata-problem">
      <legend class="label">Metadata (optional)</legend>
      <HiddenFields values={{ metadata: entered(body, 'metadata') }} />
      <div class="fields">
        {fields.map(({ title, key }, index) => (
          <div key={key}>
            <HiddenFields values={{ metadataKey: key }} />
            <Entry
              id={`metadata-${index}`}
              name="metadataValue"
              label={title}
              value={ownPairs[index]?.[1] ?? lineOf(key, kept[key]) ?? ''}
            />
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
