import type { z } from 'zod';
import { useAddress } from '../http/access.ts';
import type { EnteredFilter, Filter } from '../http/filter.ts';
import { withQuery } from '../http/paths.ts';
import type { Choices } from '../words/words.ts';
import { Link, Submit } from './button.tsx';
import { choicesOf, Fields, labelOf, propertiesOf } from './fields.tsx';
import { HiddenFields } from './form.tsx';
import { EntriesProvider } from './inputs.tsx';

interface FilterFormProps {
  /** The page that it filters. */
  to: string;
  /** Makes its fields: `title` and `description` become labels and hints. */
  schema: z.ZodType;
  filter: Filter<unknown>;
  /** The words of values, by field. */
  choices?: Readonly<Record<string, Choices>>;
  /** Fields that are kept as they are. */
  hidden?: readonly string[];
  /** Chips that open, each with its title and fields; otherwise all fields are shown. */
  chips?: readonly FilterChip[];
}

/** What a chip opens. */
export type FilterChip = readonly [title: string, ...fields: string[]];

/** Filters a list by the parameters of its address, so that a filtered list can be bookmarked and sent. */
export function FilterForm(props: FilterFormProps) {
  const { to, schema, filter, choices = {}, hidden = [], chips } = props;
  const { entered, reading } = filter;
  const problems = reading.kind === 'invalid' ? reading.problems : {};
  const names = Object.keys(propertiesOf(schema)).filter((name) => !hidden.includes(name));
  const kept = Object.fromEntries(Object.entries(entered).filter(([name]) => hidden.includes(name)));
  const chosen = (fields: readonly string[]) => chosenIn(schema, entered, choices, fields);
  return (
    <form method="get" action={useAddress(to)} class={chips === undefined ? 'card stack' : 'chips filters'}>
      <HiddenFields values={kept as Record<string, string>} />
      <EntriesProvider value={{ body: entered, problems }}>
        {chips?.map(([title, ...fields]) => (
          <details key={title} name="filter" open={fields.some((name) => problems[name] !== undefined)}>
            <summary data-chosen={fields.some((name) => entered[name] !== undefined)}>
              {[title, chosen(fields).join(', ')].filter((words) => words !== '').join(': ')}
            </summary>
            <div class="card stack">
              <Fields schema={schema} only={fields} choices={choices} />
              <div class="row">
                <Submit>Filter</Submit>
              </div>
            </div>
          </details>
        ))}
        {chips === undefined && <Fields schema={schema} only={names} choices={choices} />}
      </EntriesProvider>
      {chips === undefined ? (
        <div class="row">
          <Submit>Filter</Submit>
        </div>
      ) : names.some((name) => entered[name] !== undefined) ? (
        <Link to={withQuery(to, kept)}>Clear</Link>
      ) : null}
    </form>
  );
}

/** What is chosen, in words. */
function chosenIn(
  schema: z.ZodType,
  entered: EnteredFilter,
  choices: Readonly<Record<string, Choices>>,
  names: readonly string[],
): string[] {
  const properties = propertiesOf(schema);
  return names.flatMap((name) => {
    const property = properties[name] ?? {};
    const label = labelOf(name, property);
    const offered = choicesOf(property, choices[name]);
    return [entered[name] ?? []].flat().map((value) => {
      if (property.type === 'boolean') return label;
      return offered === null
        ? `${label} ${value}`
        : (offered.find(([each]) => each === value)?.[1] ?? value);
    });
  });
}
