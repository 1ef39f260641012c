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
  const hint = ['12 to 128 characters.', consequence].filter(Boolean).join(' ');
  return (
    <Field name={name} label={label} hint={hint} problem={problem}>
      <input
        {...inputProps(name, problem)}
        type="password"
        required
        minLength={12}
        maxLength={128}
        autocomplete="new-password"
      />
    </Field>
  );
}
