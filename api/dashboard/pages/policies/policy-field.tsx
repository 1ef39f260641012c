import type { ComponentChildren } from 'preact';
import type { FormProblems } from '../../http/forms.ts';
import { Field, inputProps } from '../../layout/form.tsx';
import type { EnteredPolicy, ListField, TextField } from './entered-policy.ts';

/** The list of all currencies, which every field for one offers. */
export const currencyListId = 'currencies';

/** Where in the form a policy is, with what was entered there and what is wrong with it. */
export interface PolicyPlace {
  prefix: string;
  entered: EnteredPolicy;
  /** Those of this policy alone. */
  problems: FormProblems;
}

export interface PolicyTextProps {
  at: PolicyPlace;
  field: TextField;
  label: string;
  hint?: string;
  /** Which keyboard a phone shows. */
  inputMode?: 'text' | 'numeric' | 'decimal';
  maxLength?: number;
  /** The id of what a browser offers to choose from. */
  list?: string;
  autofocus?: boolean;
}

/** One field of a policy that is a line of text. */
export function PolicyText(props: PolicyTextProps) {
  const { at, field, label, hint, inputMode = 'text', maxLength = 20, list, autofocus = false } = props;
  const name = `${at.prefix}${field}`;
  const problem = at.problems[name];
  return (
    <Field name={name} label={label} hint={hint} problem={problem}>
      <input
        {...inputProps(name, problem)}
        {...(autofocus ? { autofocus } : {})}
        value={at.entered.texts[field]}
        inputMode={inputMode}
        list={list}
        maxLength={maxLength}
        autocomplete="off"
        spellcheck={false}
      />
    </Field>
  );
}

/** A field for an amount, in decimals of the currency in which the policy's amounts are written. */
export function PolicyAmount(props: Omit<PolicyTextProps, 'inputMode' | 'maxLength'>) {
  return <PolicyText {...props} inputMode="decimal" />;
}

/** A field for the code of a currency. */
export function PolicyCurrency(props: Omit<PolicyTextProps, 'inputMode' | 'maxLength' | 'list'>) {
  return <PolicyText {...props} list={currencyListId} maxLength={3} />;
}

/** A field with two answers. */
export function PolicyChoice({
  at,
  field,
  label,
  hint,
  no,
  yes,
}: Pick<PolicyTextProps, 'at' | 'field' | 'label' | 'hint'> & { no: string; yes: string }) {
  const name = `${at.prefix}${field}`;
  const problem = at.problems[name];
  const isYes = at.entered.texts[field] !== '';
  return (
    <Field name={name} label={label} hint={hint} problem={problem}>
      <select {...inputProps(name, problem)}>
        <option value="" selected={!isYes}>
          {no}
        </option>
        <option value="yes" selected={isYes}>
          {yes}
        </option>
      </select>
    </Field>
  );
}

/** Fields that belong together. */
export function FieldGroup({ legend, children }: { legend: string; children: ComponentChildren }) {
  return (
    <fieldset class="stack field-group">
      <legend>{legend}</legend>
      {children}
    </fieldset>
  );
}

/** Choices of which any number can be made; none is as good as all. */
export function PolicyChoices({
  at,
  field,
  label,
  choices,
}: {
  at: PolicyPlace;
  field: ListField;
  label: string;
  /** Values with the words for them. */
  choices: readonly (readonly [value: string, words: string])[];
}) {
  const name = `${at.prefix}${field}`;
  const problem = at.problems[name];
  return (
    <fieldset class="field" aria-describedby={`${name}-hint ${name}-problem`}>
      <legend class="label">{label}</legend>
      <div class="row">
        {choices.map(([value, words]) => (
          <label key={value}>
            <input
              type="checkbox"
              name={name}
              value={value}
              checked={at.entered.lists[field].includes(value)}
            />
            {words}
          </label>
        ))}
      </div>
      <p class="hint" id={`${name}-hint`}>
        None chosen: all of them.
      </p>
      {problem === undefined ? null : (
        <p class="problem" id={`${name}-problem`}>
          {problem}
        </p>
      )}
    </fieldset>
  );
}
