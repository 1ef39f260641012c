import { currencies } from '../../../../shared/money/money.ts';
import { processorNames } from '../../../../shared/processors/registry.ts';
import { initiators, refundReasons } from '../../../../shared/refunds/model/reasons.ts';
import { refundStatuses } from '../../../../shared/refunds/model/states.ts';
import type { FormProblems } from '../../http/forms.ts';
import { statusWords } from '../../layout/badge.tsx';
import { Field, inputProps } from '../../layout/form.tsx';
import { initiatorWords, processorWord, reasonWords } from '../../layout/words.ts';
import { type EnteredFilter, isRestricting } from './entered-filter.ts';

export interface FilterFormProps {
  /** The address of the list. */
  to: string;
  entered: EnteredFilter;
  problems: FormProblems;
}

/** Chooses which refunds are listed; everything chosen stands in the address, so that a list can be kept and shared. */
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
          placeholder="Id of a refund, a transaction, or the processor's refund"
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
      <StatusChoice chosen={entered.status} problem={problems.status} />
      <details class="more" open={hasMore(entered)}>
        <summary>More filters</summary>
        <MoreFilters entered={entered} problems={problems} />
      </details>
    </form>
  );
}

function hasMore({ q: _, status: __, needsPerson, ...further }: EnteredFilter): boolean {
  return needsPerson || Object.values(further).some((value) => value !== '');
}

function StatusChoice({ chosen, problem }: { chosen: readonly string[]; problem: string | undefined }) {
  return (
    <fieldset class="row choices">
      <legend class="visually-hidden">Status</legend>
      {refundStatuses.map((status) => (
        <label key={status}>
          <input type="checkbox" name="status" value={status} checked={chosen.includes(status)} />{' '}
          {statusWords[status]}
        </label>
      ))}
      {problem === undefined ? null : <p class="problem">{problem}</p>}
    </fieldset>
  );
}

function MoreFilters({ entered, problems }: Pick<FilterFormProps, 'entered' | 'problems'>) {
  return (
    <div class="fields">
      <Choice name="processor" label="Processor" entered={entered} problems={problems}>
        {processorNames.map((name) => [name, processorWord(name)])}
      </Choice>
      <Choice name="initiatedBy" label="Asked for by" entered={entered} problems={problems}>
        {initiators.map((name) => [name, initiatorWords[name]])}
      </Choice>
      <Choice name="reason" label="Reason" entered={entered} problems={problems}>
        {refundReasons.map((name) => [name, reasonWords[name]])}
      </Choice>
      <Choice name="currency" label="Currency" entered={entered} problems={problems}>
        {currencies.map((code) => [code, code.toUpperCase()])}
      </Choice>
      <Day name="from" label="Created from (UTC)" entered={entered} problems={problems} />
      <Day name="to" label="Created to (UTC)" entered={entered} problems={problems} />
      <Decimal name="amountFrom" label="Amount from" entered={entered} problems={problems} />
      <Decimal name="amountTo" label="Amount to" entered={entered} problems={problems} />
      <label>
        <input type="checkbox" name="needsPerson" value="true" checked={entered.needsPerson} /> Needs a person
      </label>
    </div>
  );
}

type TextName = Exclude<keyof EnteredFilter, 'status' | 'needsPerson'>;

interface ChoiceProps extends Pick<FilterFormProps, 'entered' | 'problems'> {
  name: TextName;
  label: string;
  /** Values with the words for them. */
  children: [string, string][];
}

function Choice({ name, label, entered, problems, children }: ChoiceProps) {
  return (
    <Field name={name} label={label} problem={problems[name]}>
      <select {...inputProps(name, problems[name])}>
        <option value="">Any</option>
        {children.map(([value, words]) => (
          <option key={value} value={value} selected={entered[name] === value}>
            {words}
          </option>
        ))}
      </select>
    </Field>
  );
}

interface DecimalProps extends Pick<FilterFormProps, 'entered' | 'problems'> {
  name: 'amountFrom' | 'amountTo';
  label: string;
}

function Decimal({ name, label, entered, problems }: DecimalProps) {
  return (
    <Field name={name} label={label} hint="Such as 10.50." problem={problems[name]}>
      <input {...inputProps(name, problems[name])} inputMode="decimal" value={entered[name]} />
    </Field>
  );
}

interface DayProps extends Pick<FilterFormProps, 'entered' | 'problems'> {
  name: 'from' | 'to';
  label: string;
}

function Day({ name, label, entered, problems }: DayProps) {
  return (
    <Field name={name} label={label} problem={problems[name]}>
      <input {...inputProps(name, problems[name])} type="date" value={entered[name]} />
    </Field>
  );
}
