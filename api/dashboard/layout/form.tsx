import type { ComponentChildren } from 'preact';
import type { FormProblems } from '../http/forms.ts';

/** Proves that a form was sent from one of our pages by the person whose session it is. */
export function CsrfField({ token }: { token: string }) {
  return <input type="hidden" name="_csrf" value={token} />;
}

export interface FieldProps {
  /** Also the id of its input, and the name under which the form sends it. */
  name: string;
  label: string;
  hint?: ComponentChildren;
  problem?: string | undefined;
  /** The input; it has to carry `inputProps`. */
  children: ComponentChildren;
}

/** A labelled input with its hint, and what is wrong with what was entered. */
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

/** What ties an input to its `Field`, for people who hear the page. */
export function inputProps(name: string, problem?: string) {
  return {
    id: name,
    name,
    'aria-describedby': `${name}-hint ${name}-problem`,
    ...(problem === undefined ? {} : { 'aria-invalid': 'true' as const, autofocus: true }),
  };
}

/** What is wrong with a form as a whole; it is read out at once. */
export function FormNotice({ problems }: { problems: FormProblems }) {
  const { form } = problems;
  if (form === undefined) return null;
  return (
    <p class="notice" data-tone="bad" role="alert">
      {form}
    </p>
  );
}
