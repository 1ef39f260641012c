import type { z } from 'zod';
import { useAddress } from '../http/access.ts';
import type { EnteredFilter, Filter } from '../http/filter.ts';
import type { Choices } from '../words/words.ts';
import { ButtonLink, Submit } from './button.tsx';
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
  /** True to show what is chosen until it is unfolded. */
  isFolded?: boolean;
}

/** Filters a list by the parameters of its address, so that a filtered list can be bookmarked and sent. */
export function FilterForm(props: FilterFormProps) {
  const { to, schema, filter, choices = {}, hidden = [], isFolded } = props;
  const { entered, reading } = filter;
  const problems = reading.kind === 'invalid' ? reading.problems : {};
  const names = Object.keys(propertiesOf(schema)).filter((name) => !hidden.includes(name));
  const fields = (
    <>
      <EntriesProvider value={{ body: entered, problems }}>
        <Fields schema={schema} only={names} choices={choices} />
      </EntriesProvider>
      <div class="row">
        <Submit>Filter</Submit>
        {isFolded && <ButtonLink to={to}>Clear</ButtonLink>}
      </div>
    </>
  );
  return (
    <form method="get" action={useAddress(to)} class={isFolded ? undefined : 'card stack'}>
      {hidden.map((name) => (
        <HiddenFields key={name} values={entered[name] === undefined ? {} : { [name]: `${entered[name]}` }} />
      ))}
      {isFolded ? (
        <details class="card more" open={reading.kind === 'invalid'}>
          <summary>
            Filters <span class="muted">{chosenIn(schema, entered, choices, names).join(', ')}</span>
          </summary>
          <div class="stack">{fields}</div>
        </details>
      ) : (
        fields
      )}
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
