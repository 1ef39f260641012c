import type { InputHTMLAttributes } from 'preact';
import { currencies } from '../../../../shared/money/money.ts';
import { processorNames } from '../../../../shared/processors/registry.ts';
import { initiators, refundReasons } from '../../../../shared/refunds/model/reasons.ts';
import { refundStatuses } from '../../../../shared/refunds/model/states.ts';
import type { FormProblems } from '../../http/forms.ts';
import { statusWords } from '../../layout/badge.tsx';
import { Field, inputProps } from '../../layout/form.tsx';
import { initiatorWords, processorWord, reasonWords } from '../../layout/words.ts';
import { type EnteredFilter, type FilterField, isRestricting } from './filter.ts';

export interface FilterFormProps {
  /** The URL of the list. */
  to: string;
  entered: EnteredFilter;
  problems: FormProblems;
}

/** Filters the list by query parameters, so that a filtered list can be bookmarked and shared. */
export function FilterForm({ to, entered, problems }: FilterFormProps) {
  return (
    <form method="get" action={to} class="card stack">
      <search class="row">
        <label class="visually-hidden" for="q">
          Search
        </label>
        <input
          id="q"
          name="q"
          type="search"
          class="grow"
          value={entered.q}
          placeholder="Refund ID, transaction ID or the processor's refund ID"
          autocomplete="off"
          spellcheck={false}
        />
        <button type="submit" class="button" data-kind="primary">
          Search
        </button>
        {isRestricting(entered) ? (
          <a class="button" href={to}>
            Clear
          </a>
        ) : null}
      </search>
      <fieldset class="row choices">
        <legend class="visually-hidden">Status</legend>
        {refundStatuses.map((status) => (
          <label key={status}>
            <input type="checkbox" name="status" value={status} checked={entered.status.includes(status)} />{' '}
            {statusWords[status]}
          </label>
        ))}
        {problems.status === undefined ? null : <p class="problem">{problems.status}</p>}
      </fieldset>
      <details class="more" open={hasMore(entered)}>
        <summary>More filters</summary>
        <MoreFilters entered={entered} problems={problems} />
      </details>
    </form>
  );
}

function hasMore({ q: _, status: __, needsAttention, ...further }: EnteredFilter): boolean {
  return needsAttention || Object.values(further).some((value) => value !== '');
}

type FieldsProps = Pick<FilterFormProps, 'entered' | 'problems'>;

function MoreFilters(props: FieldsProps) {
  const decimal = { inputMode: 'decimal' } as const;
  return (
    <div class="fields">
      <Choice
        {...props}
        name="processor"
        label="Processor"
        options={processorNames.map((name) => [name, processorWord(name)])}
      />
      <Choice
        {...props}
        name="initiatedBy"
        label="Source"
        options={initiators.map((name) => [name, initiatorWords[name]])}
      />
      <Choice
        {...props}
        name="reason"
        label="Reason"
        options={refundReasons.map((name) => [name, reasonWords[name]])}
      />
      <Choice
        {...props}
        name="currency"
        label="Currency"
        options={currencies.map((code) => [code, code.toUpperCase()])}
      />
      <Text {...props} name="from" label="Created from (UTC)" input={{ type: 'date' }} />
      <Text {...props} name="to" label="Created to (UTC)" input={{ type: 'date' }} />
      <Text {...props} name="amountFrom" label="Minimum amount" hint="For example 10.50." input={decimal} />
      <Text {...props} name="amountTo" label="Maximum amount" hint="For example 10.50." input={decimal} />
      <label>
        <input type="checkbox" name="needsAttention" value="true" checked={props.entered.needsAttention} />{' '}
        Needs attention
      </label>
    </div>
  );
}

interface NamedFieldProps extends FieldsProps {
  name: FilterField;
  label: string;
}

function Choice({
  name,
  label,
  entered,
  problems,
  options,
}: NamedFieldProps & { options: [value: string, words: string][] }) {
  return (
    <Field name={name} label={label} problem={problems[name]}>
      <select {...inputProps(name, problems[name])}>
        <option value="">Any</option>
        {options.map(([value, words]) => (
          <option key={value} value={value} selected={entered[name] === value}>
            {words}
          </option>
        ))}
      </select>
    </Field>
  );
}

interface TextProps extends NamedFieldProps {
  hint?: string;
  input: InputHTMLAttributes;
}

function Text({ name, label, hint, entered, problems, input }: TextProps) {
  return (
    <Field name={name} label={label} hint={hint} problem={problems[name]}>
      <input {...inputProps(name, problems[name])} {...input} value={entered[name]} />
    </Field>
  );
}
