import type { ComponentChildren } from 'preact';
import { passwordLength } from '../../../shared/people/passwords.ts';
import type { FormProblems } from '../http/forms.ts';

/** The CSRF token of a form. */
export function CsrfField({ token }: { token: string }) {
  return <input type="hidden" name="_csrf" value={token} />;
}

export interface FieldProps {
  /** The id and the name of the input. */
  name: string;
  label: string;
  hint?: ComponentChildren;
  problem?: string | undefined;
  /** The input, with `inputProps`. */
  children: ComponentChildren;
}

/** A labelled input with its hint and its error. */
export function Field({ name, label, hint, problem, children }: FieldProps) {
  return (
    <div class="field">
      <label for={name}>{label}</label>
      {children}
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
    </div>
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

/** An error of the form as a whole. */
export function FormNotice({ problems }: { problems: FormProblems }) {
  const { form } = problems;
  if (form === undefined) return null;
  return (
    <p class="notice" data-tone="bad" role="alert">
      {form}
    </p>
  );
}

export interface NewPasswordFieldProps {
  name: string;
  label: string;
  /** Shown after the length rule. */
  consequence?: string;
  problem: string | undefined;
}

/** The input for a new password; browsers offer to generate one. */
export function NewPasswordField({ name, label, consequence, problem }: NewPasswordFieldProps) {
  const { min, max } = passwordLength;
  const hint = [`${min} to ${max} characters.`, consequence].filter(Boolean).join(' ');
  return (
    <Field name={name} label={label} hint={hint} problem={problem}>
      <input
        {...inputProps(name, problem)}
        type="password"
        required
        minLength={min}
        maxLength={max}
        autocomplete="new-password"
      />
    </Field>
  );
}
