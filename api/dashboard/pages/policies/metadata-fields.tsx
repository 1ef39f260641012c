import { type EnteredMetadata, emptyMetadata, metadataKinds } from './entered-metadata.ts';
import type { PolicyPlace } from './policy-field.tsx';

/** What a refund's metadata has to hold: a line for each name, and an empty one to go on with. */
export function MetadataFields({
  at,
  more,
  isFocused,
}: {
  at: PolicyPlace;
  /** Brings another empty line. */
  more: object;
  isFocused: boolean;
}) {
  const name = `${at.prefix}match.metadata`;
  const problem = at.problems[name];
  const rows = [...at.entered.metadata, emptyMetadata];
  return (
    <fieldset class="field" aria-describedby={`${name}-hint ${name}-problem`}>
      <legend class="label">Metadata</legend>
      <div class="stack-tight">
        {rows.map((row, index) => (
          <Line
            key={`${index + 1}`}
            name={`${name}.${index}`}
            number={index + 1}
            row={row}
            isFocused={isFocused && index === rows.length - 1}
          />
        ))}
      </div>
      <p class="hint" id={`${name}-hint`}>
        The refund's metadata has this name with exactly this value. Leave a line empty to take it away.
      </p>
      {problem === undefined ? null : (
        <p class="problem" id={`${name}-problem`}>
          {problem}
        </p>
      )}
      <div>
        <button {...more} class="button" data-kind="quiet">
          Another line
        </button>
      </div>
    </fieldset>
  );
}

function Line({
  name,
  number,
  row,
  isFocused,
}: {
  name: string;
  number: number;
  row: EnteredMetadata;
  isFocused: boolean;
}) {
  const common = { autocomplete: 'off', spellcheck: false, class: 'grow' };
  return (
    <div class="metadata-line">
      <input
        {...common}
        name={`${name}.key`}
        value={row.key}
        aria-label={`Metadata ${number}: name`}
        placeholder="Name"
        {...(isFocused ? { autofocus: true } : {})}
      />
      <select name={`${name}.kind`} aria-label={`Metadata ${number}: kind of value`}>
        {Object.entries(metadataKinds).map(([kind, words]) => (
          <option key={kind} value={kind} selected={kind === row.kind}>
            {words}
          </option>
        ))}
      </select>
      <input
        {...common}
        name={`${name}.value`}
        value={row.value}
        aria-label={`Metadata ${number}: value`}
        placeholder="Value"
      />
    </div>
  );
}
