import { exportColumns, usualExportColumns } from '#shared/refunds/queries/export-refunds.ts';
import { ButtonLink, Submit } from '../../components/button.tsx';
import { inWords } from '../../components/fields.tsx';
import { HiddenFields } from '../../components/form.tsx';
import { CheckboxesField, EntriesProvider } from '../../components/inputs.tsx';
import { useAddress, useMember } from '../../http/access.ts';
import type { EnteredFilter } from '../../http/filter.ts';
import { withQuery } from '../../http/paths.ts';
import { namedColumns } from './metadata-columns.tsx';

const path = '/refunds/export';

interface ExportProps {
  entered: EnteredFilter;
  /** How many refunds, in words. */
  words: string;
  /** The keys of the metadata of the refunds that are shown. */
  metadataKeys: readonly string[];
}

/** Exports the filtered refunds as CSV, with the usual columns or those that are chosen. */
export function ExportForm({ entered: { sort: _, ...filter }, words, metadataKeys }: ExportProps) {
  const { refundColumns } = useMember().organization;
  const keys = new Set([...refundColumns, ...metadataKeys]);
  const initial = {
    columns: usualExportColumns,
    metadataKeys: namedColumns(refundColumns).flatMap((each) => each.keys),
  };
  return (
    <div class="chips filters">
      <ButtonLink id="export" to={withQuery(path, filter)}>
        Export {words} as CSV
      </ButtonLink>
      <details>
        <summary>Columns</summary>
        <form method="get" action={useAddress(path)} class="card stack">
          {Object.entries(filter).flatMap(([name, values]) =>
            [values]
              .flat()
              .map((value) => <HiddenFields key={`${name} ${value}`} values={{ [name]: value }} />),
          )}
          <EntriesProvider value={{ body: initial, problems: {} }}>
            <CheckboxesField
              name="columns"
              label="Columns"
              choices={exportColumns.map((name) => [name, inWords(name)])}
            />
            {keys.size === 0 ? null : (
              <CheckboxesField
                name="metadataKeys"
                label="Metadata"
                choices={[...keys].map((key) => [key, key])}
              />
            )}
          </EntriesProvider>
          <div class="row">
            <Submit>Export</Submit>
          </div>
        </form>
      </details>
    </div>
  );
}
