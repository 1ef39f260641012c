import { passwordLength } from '../../../shared/people/passwords.ts';
import { Field, inputProps } from './form.tsx';

export interface NewPasswordFieldProps {
  name: string;
  label: string;
  /** What choosing it brings about; the rule for its length is told in any case. */
  consequence?: string;
  problem: string | undefined;
}

/** Where somebody chooses a password; browsers offer to make one up and keep it. */
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
