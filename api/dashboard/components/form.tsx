import type { ComponentChildren } from 'preact';
import { useAddress } from '../http/access.ts';
import { entered, enteredList, type FormProblems, type FormState } from '../http/forms.ts';
import { useRequest } from '../http/render.ts';
import type { Choices } from '../words/words.ts';
import { ButtonLink, Submit } from './button.tsx';

/** The CSRF token of a form; before sign-in there is none. */
export function CsrfField() {
  const { visitor } = useRequest();
  return visitor ? <input type="hidden" name="_csrf" value={visitor.csrfToken} /> : null;
}

/** Where a form is posted. With an id its response replaces that element, and a second click is ignored. */
export function postedTo(action: string, id?: string) {
  if (id === undefined) return { method: 'post', action } as const;
  return {
    method: 'post',
    action,
    'hx-post': action,
    'hx-target': `#${id}`,
    'hx-swap': 'outerHTML',
    'hx-sync': 'drop',
  } as const;
}

interface FormProps {
  /** Where it is posted: an address, or a path below the environment. */
  to: string;
  /** The label of its button. */
  submit: string;
  title?: string;
  /** Shows the problems of the form as a whole. */
  form?: FormState | undefined;
  /** The id of the element that the response replaces; otherwise the response is a page. */
  answeredIn?: string;
  /** The page to return to without a change. */
  cancel?: string;
  /** True if its button fills the line. */
  isWide?: boolean;
  /** True if the page's main action is another one. */
  isSecondary?: boolean;
  children: ComponentChildren;
}

/** A form that changes something, as a card. */
export function Form(props: FormProps) {
  const { to, submit, title, form, answeredIn: id, cancel, isWide, isSecondary, children } = props;
  const button = <Submit kind={isSecondary ? undefined : 'primary'}>{submit}</Submit>;
  return (
    <form {...postedTo(useAddress(to), id)} class="card stack" aria-label={title}>
      {title === undefined ? null : <h2>{title}</h2>}
      <CsrfField />
      <FormNotice problems={form?.problems ?? {}} />
      {children}
      {isWide ? (
        button
      ) : (
        <div class="row">
          {button}
          {cancel === undefined ? null : <ButtonLink to={cancel}>Cancel</ButtonLink>}
        </div>
      )}
    </form>
  );
}

interface PostProps extends Pick<FormProps, 'to' | 'answeredIn'> {
  /** Sent with it. */
  values?: Readonly<Record<string, string>>;
  kind?: 'primary' | 'danger' | undefined;
  shortcut?: string;
  /** The label of the button. */
  children: ComponentChildren;
}

/** A button that posts something. */
export function Post({ to, answeredIn: id, values = {}, children, ...button }: PostProps) {
  return (
    <form {...postedTo(useAddress(to), id)}>
      <CsrfField />
      <HiddenFields values={values} />
      <Submit {...button}>{children}</Submit>
    </form>
  );
}

/** Values that are sent with a form. */
export function HiddenFields({ values }: { values: Readonly<Record<string, string>> }) {
  return (
    <>
      {Object.entries(values).map(([name, value]) => (
        <input key={name} type="hidden" name={name} value={value} />
      ))}
    </>
  );
}

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

function HintAndProblem({ name, hint, problem }: Pick<FieldProps, 'name' | 'hint' | 'problem'>) {
  return (
    <>
      {hint === undefined ? null : (
        <p class="hint" id={`${name}-hint`}>
          {hint}
        </p>
      )}
      {problem === undefined ? null : (
        <p class="problem" id={`${name}-problem`}>
          {problem}
        </p>
      )}
    </>
  );
}

/** Connects an input to the label, hint and error of its `Field`, for screen readers. */
export function inputProps(name: string, problem?: string) {
  return {
    id: name,
    name,
    'aria-describedby': `${name}-hint ${name}-problem`,
    ...(problem === undefined ? {} : { 'aria-invalid': 'true' as const, autofocus: true }),
  };
}

/** An error of the form as a whole. A message that lists several problems, as the API separates them, has a line for each. */
export function FormNotice({ problems }: { problems: FormProblems }) {
  const { form } = problems;
  if (form === undefined) return null;
  return (
    <p class="notice said" data-tone="bad" role="alert">
      {form.replaceAll(' | ', '\n')}
    </p>
  );
}

export type { FormState };

/** A form without entries. */
export const emptyForm: FormState = { body: {}, problems: {} };

interface NamedFieldProps extends Pick<FieldProps, 'name' | 'label' | 'hint'> {
  /** Empty by default. */
  form: FormState | undefined;
}

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
export function TextField({ form = emptyForm, name, label, hint, type = 'text', ...input }: TextFieldProps) {
  const problem = form.problems[name];
  const value = type === 'password' ? {} : { value: entered(form.body, name) };
  // Preact has a union of attributes by type, and these are common to all of them.
  const typed = { type: type as 'text' };
  return (
    <Field name={name} label={label} hint={hint} problem={problem}>
      <input {...inputProps(name, problem)} {...typed} {...value} autocomplete="off" {...input} />
    </Field>
  );
}

type TextAreaFieldProps = NamedFieldProps & Pick<TextFieldProps, 'required' | 'maxLength' | 'spellcheck'>;

/** An input for several lines. */
export function TextAreaField(props: TextAreaFieldProps & { class?: string }) {
  const { form: { body, problems } = emptyForm, name, label, hint, ...input } = props;
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
  const { form = emptyForm, name, label, hint, choices, initial, required } = props;
  const problem = form.problems[name];
  return (
    <Field name={name} label={label} hint={hint} problem={problem}>
      <select {...inputProps(name, problem)} required={required}>
        <Options choices={choices} selected={entered(form.body, name) || initial} />
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
  const { form = emptyForm, name, label, hint, choices } = props;
  const problem = form.problems[name];
  const selected = enteredList(form.body, name);
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
      <HintAndProblem name={name} hint={hint} problem={problem} />
    </fieldset>
  );
}

/** One checkbox, sent as `yes`. */
export function CheckboxField({ form = emptyForm, name, label, hint }: NamedFieldProps) {
  return (
    <div class="field">
      <label for={name}>
        <input {...inputProps(name)} type="checkbox" value="yes" checked={entered(form.body, name) !== ''} />
        {label}
      </label>
      <HintAndProblem name={name} hint={hint} problem={form.problems[name]} />
    </div>
  );
}

/** The input for a code of the second factor, named `code`; for confirmations and sign-ins also for a recovery code. */
export function CodeField({
  hint = 'From your authenticator app, or a recovery code.',
  ...field
}: Pick<NamedFieldProps, 'form'> & { hint?: string }) {
  return (
    <TextField
      {...field}
      hint={hint}
      name="code"
      label="Code"
      required
      maxLength={50}
      autocomplete="one-time-code"
      spellcheck={false}
    />
  );
}
