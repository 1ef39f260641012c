import { refundStatuses } from '#shared/refunds/model/states.ts';
import { statusWords } from '../../components/badge.tsx';
import { ButtonLink, Submit } from '../../components/button.tsx';
import { CheckboxesField, type FormState, SelectField, TextField } from '../../components/form.tsx';
import { useAddress } from '../../http/access.ts';
import { entered } from '../../http/forms.ts';
import {
  type Choices,
  currencyChoices,
  failureChoices,
  initiatorChoices,
  processorChoices,
  reasonChoices,
} from '../../words/words.ts';
import { type EnteredFilter, isRestricting } from './filter.ts';

interface FilterFormProps {
  /** The URL of the list. */
  to: string;
  filter: EnteredFilter;
  /** Whether all filters are shown. */
  isOpen: boolean;
  problems: FormState['problems'];
}

/** Filters the list by query parameters, so that a filtered list can be bookmarked and shared. */
export function FilterForm({ to, filter, isOpen, problems }: FilterFormProps) {
  return (
    <form method="get" action={useAddress(to)} class="card stack">
      <search class="row">
        <label class="visually-hidden" for="q">
          Search
        </label>
        <input
          id="q"
          name="q"
          type="search"
          class="grow"
          value={filter.q}
          placeholder="Refund or payment ID"
          autocomplete="off"
          spellcheck={false}
        />
        <Submit>Search</Submit>
        {isRestricting(filter) ? <ButtonLink to={to}>Clear</ButtonLink> : null}
      </search>
      {filter.sort === '' ? null : <input type="hidden" name="sort" value={filter.sort} />}
      <details class="more" open={isOpen}>
        <summary>More filters</summary>
        <MoreFilters form={{ body: filter, problems }} />
      </details>
    </form>
  );
}

function MoreFilters({ form }: { form: FormState }) {
  const any = ['', 'Any'] as const;
  return (
    <div class="fields">
      <SelectField form={form} name="processor" label="Processor" choices={[any, ...processorChoices]} />
      <SelectField form={form} name="initiatedBy" label="Source" choices={[any, ...initiatorChoices]} />
      <TextField form={form} name="apiKeyId" label="API key ID" maxLength={255} spellcheck={false} />
      <SelectField form={form} name="reason" label="Reason" choices={[any, ...reasonChoices]} />
      <SelectField form={form} name="failureCode" label="Failure" choices={[any, ...failureChoices]} />
      <SelectField form={form} name="currency" label="Currency" choices={[any, ...currencyChoices]} />
      <TextField form={form} name="from" label="Created from (UTC)" type="date" />
      <TextField form={form} name="to" label="Created to (UTC)" type="date" />
      <TextField form={form} name="amountFrom" label="Minimum amount" {...decimal} />
      <TextField form={form} name="amountTo" label="Maximum amount" {...decimal} />
      <CheckboxesField form={form} name="status" label="Status" choices={statusChoices} />
      {flags.map(([name, words]) => (
        <label key={name}>
          <input type="checkbox" name={name} value="true" checked={entered(form.body, name) !== ''} /> {words}
        </label>
      ))}
    </div>
  );
}

const statusChoices: Choices = refundStatuses.map((status) => [status, statusWords[status]]);

const flags: Choices = [
  ['needsAttention', 'Needs attention'],
  ['outcomeUnknown', 'Outcome unknown'],
];

const decimal = { hint: 'For example 10.50.', inputMode: 'decimal' } as const;
