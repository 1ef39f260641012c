import { type ComponentChildren, createContext } from 'preact';
import { useContext } from 'preact/hooks';
import { entered, enteredList, type FormState } from '../http/forms.ts';
import { asSentence, type Choices } from '../words/words.ts';

const Entries = createContext<FormState>({ body: {}, problems: {} });

/** The entries and problems of the form around a field. */
export function useEntries(): FormState {
  return useContext(Entries);
}

/** Gives fields outside of a `Form` their entries and problems. */
export const EntriesProvider = Entries.Provider;

interface FieldProps {
  /** The id and the name of the input. */
  name: string;
  label: string;
  hint?: ComponentChildren;
  problem?: string | undefined;
  /** The input, with `inputProps`. */
  children: ComponentChildren;
}

/** A labelled input with its hint and its error. */
function Field({ name, label, hint, problem, children }: FieldProps) {
  return (
    <div class="field">
      <label for={name}>{label}</label>
      {children}
      <HintAndProblem name={name} hint={hint} problem={problem} />
    </div>
  );
}

/** What stands below an input or a group of inputs. */
export function HintAndProblem({ name, hint, problem }: Pick<FieldProps, 'name' | 'hint' | 'problem'>) {
  return (
    <>
      {hint === undefined ? null : (
        <p class="hint" id={`${name}-hint`}>
          {hint}
        </p>
      )}
      {problem === undefined ? null : (
        <p class="problem" id={`${name}-problem`}>
          {asSentence(problem)}
        </p>
      )}
    </>
  );
}

/** Connects an input to the label, hint and error of its `Field`, for screen readers. */
export function inputProps(name: string, problem?: string, isFocused = false) {
  return {
    id: name,
    name,
    'aria-describedby': `${name}-hint ${name}-problem`,
    ...(problem === undefined ? {} : { 'aria-invalid': 'true' as const }),
    ...(isFocused || problem !== undefined ? { autofocus: true } : {}),
  };
}

type NamedFieldProps = Pick<FieldProps, 'name' | 'label' | 'hint'>;

/** With further attributes of the input. */
interface TextFieldProps extends NamedFieldProps {
  type?: 'text' | 'email' | 'password' | 'url' | 'date';
  required?: boolean;
  autocomplete?: string;
  inputMode?: 'decimal' | 'numeric' | undefined;
  minLength?: number;
  maxLength?: number;
  spellcheck?: boolean;
  disabled?: boolean;
}

/** A text input. Shows what was entered, except a password. */
export function TextField({ name, label, hint, type = 'text', ...input }: TextFieldProps) {
  const { body, problems, focus } = useEntries();
  const problem = problems[name];
  const value = type === 'password' ? {} : { value: entered(body, name) };
  // Preact has a union of attributes by type, and these are common to all of them.
  const typed = { type: type as 'text' };
  return (
    <Field name={name} label={label} hint={hint} problem={problem}>
      <input
        {...inputProps(name, problem, focus === name)}
        {...typed}
        {...value}
        autocomplete="off"
        {...input}
      />
    </Field>
  );
}

type TextAreaFieldProps = NamedFieldProps & Pick<TextFieldProps, 'required' | 'maxLength' | 'spellcheck'>;

/** An input for several lines. */
export function TextAreaField(props: TextAreaFieldProps & { class?: string; rows?: number }) {
  const { name, label, hint, ...input } = props;
  const { body, problems } = useEntries();
  return (
    <Field name={name} label={label} hint={hint} problem={problems[name]}>
      <textarea {...inputProps(name, problems[name])} rows={3} {...input}>
        {entered(body, name)}
      </textarea>
    </Field>
  );
}

/** An input for a JSON object. */
export function JsonField(props: NamedFieldProps) {
  return <TextAreaField {...props} class="mono" spellcheck={false} />;
}

interface SelectFieldProps extends NamedFieldProps {
  choices: Choices;
  /** Selected when nothing was submitted; the first choice by default. */
  initial?: string;
  required?: boolean;
}

/** A list to select one value from. */
export function SelectField(props: SelectFieldProps) {
  const { name, label, hint, choices, initial, required } = props;
  const { body, problems } = useEntries();
  const problem = problems[name];
  return (
    <Field name={name} label={label} hint={hint} problem={problem}>
      <select {...inputProps(name, problem)} required={required}>
        <Options choices={choices} selected={entered(body, name) || initial} />
      </select>
    </Field>
  );
}

/** The options of a select element. */
export function Options({ choices, selected }: { choices: Choices; selected: string | undefined }) {
  return (
    <>
      {choices.map(([value, words]) => (
        <option key={value} value={value} selected={value === selected}>
          {words}
        </option>
      ))}
    </>
  );
}

/** Checkboxes of which any number may be selected. */
export function CheckboxesField(props: NamedFieldProps & { choices: Choices }) {
  const { name, label, hint, choices } = props;
  const { body, problems } = useEntries();
  const selected = enteredList(body, name);
  return (
    <fieldset class="field" aria-describedby={`${name}-hint ${name}-problem`}>
      <legend class="label">{label}</legend>
      <div class="choices">
        {choices.map(([value, words]) => (
          <label key={value}>
            <input type="checkbox" name={name} value={value} checked={selected.includes(value)} />
            {words}
          </label>
        ))}
      </div>
      <HintAndProblem name={name} hint={hint} problem={problems[name]} />
    </fieldset>
  );
}

/** One checkbox, sent as `true`. */
export function CheckboxField({ name, label, hint }: NamedFieldProps) {
  const { body, problems } = useEntries();
  return (
    <div class="field">
      <label for={name}>
        <input {...inputProps(name)} type="checkbox" value="true" checked={entered(body, name) !== ''} />
        {label}
      </label>
      <HintAndProblem name={name} hint={hint} problem={problems[name]} />
    </div>
  );
}

/** The input for a code of the second factor, named `code`; for confirmations and sign-ins also for a recovery code. */
export function CodeField({ hint = 'From your authenticator app, or a recovery code.' }: { hint?: string }) {
  return (
    <TextField
      name="code"
      label="Code"
      hint={hint}
      required
      maxLength={50}
      autocomplete="one-time-code"
      spellcheck={false}
    />
  );
}
