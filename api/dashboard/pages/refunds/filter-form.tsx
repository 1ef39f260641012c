import { refundStatuses } from '#shared/refunds/model/states.ts';
import { statusWords } from '../../components/badge.tsx';
import { ButtonLink, Submit } from '../../components/button.tsx';
import { CheckboxesField, SelectField, TextField } from '../../components/form.tsx';
import { useAddress } from '../../http/access.ts';
import type { FormProblems } from '../../http/forms.ts';
import {
  type Choices,
  currencyChoices,
  failureChoices,
  initiatorChoices,
  processorChoices,
  reasonChoices,
} from '../../words/words.ts';
import type { EnteredFilter } from './filter.ts';

interface FilterFormProps {
  filter: EnteredFilter;
  problems: FormProblems;
}

/** Filters the list by query parameters, so that a filtered list can be bookmarked and shared. */
export function FilterForm({ filter, problems }: FilterFormProps) {
  const form = { body: filter, problems };
  const chosen = chosenIn(filter).join(', ');
  return (
    <form method="get" action={useAddress('/refunds')}>
      {filter.sort === '' ? null : <input type="hidden" name="sort" value={filter.sort} />}
      <details class="card more" open={Object.keys(problems).length > 0}>
        <summary>
          Filters <span class="muted">{chosen}</span>
        </summary>
        <div class="stack">
          <div class="fields">
            {selects.map(([name, label, choices]) => (
              <SelectField key={name} {...{ form, name, label }} choices={[['', 'Any'], ...choices]} />
            ))}
            {texts.map(([name, label, input]) => (
              <TextField key={name} {...{ form, name, label }} spellcheck={false} {...input} />
            ))}
            <CheckboxesField form={form} name="status" label="Status" choices={statusChoices} />
            {flags.map(([name, words]) => (
              <label key={name}>
                <input type="checkbox" name={name} value="true" checked={filter[name] !== ''} /> {words}
              </label>
            ))}
          </div>
          <div class="row">
            <Submit>Filter</Submit>
            <ButtonLink to="/refunds">Clear</ButtonLink>
          </div>
        </div>
      </details>
    </form>
  );
}

const selects = [
  ['processor', 'Processor', processorChoices],
  ['initiatedBy', 'Source', initiatorChoices],
  ['reason', 'Reason', reasonChoices],
  ['failureCode', 'Failure', failureChoices],
  ['currency', 'Currency', currencyChoices],
] as const;

const decimal = { hint: 'For example 10.50.', inputMode: 'decimal' } as const;

const texts = [
  ['q', 'ID of a refund, payment or batch', { hint: 'The whole ID.' }],
  ['apiKeyId', 'API key ID', { maxLength: 255 }],
  ['from', 'Created from (UTC)', { type: 'date' }],
  ['to', 'Created to (UTC)', { type: 'date' }],
  ['amountFrom', 'Minimum amount', decimal],
  ['amountTo', 'Maximum amount', decimal],
] as const;

const statusChoices: Choices = refundStatuses.map((status) => [status, statusWords[status]]);

const flags = [
  ['needsAttention', 'Needs attention'],
  ['outcomeUnknown', 'Outcome unknown'],
] as const;

/** What is chosen, in words. */
function chosenIn(filter: EnteredFilter): string[] {
  const wordOf = (choices: Choices, value: string) =>
    choices.find(([choice]) => choice === value)?.[1] ?? value;
  return [
    ...filter.status.map((status) => wordOf(statusChoices, status)),
    ...flags.flatMap(([name, words]) => (filter[name] === '' ? [] : [words])),
    ...selects.flatMap(([name, , choices]) => (filter[name] === '' ? [] : [wordOf(choices, filter[name])])),
    ...texts.flatMap(([name, label]) => (filter[name] === '' ? [] : [`${label} ${filter[name]}`])),
  ];
}
