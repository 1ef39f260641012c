import { z } from 'zod';
import { passwordLength } from '#shared/people/sign-in/passwords.ts';
import { capitalized } from '../http/forms.ts';
import type { Choices } from '../words/words.ts';
import {
  CheckboxesField,
  CheckboxField,
  type FormState,
  JsonField,
  SelectField,
  TextField,
} from './form.tsx';

interface FieldsProps {
  /** Of a form, or the input of an operation: `title` and `description` of its fields become labels and hints. */
  schema: z.ZodType;
  form: FormState | undefined;
  /** All fields by default. */
  only?: readonly string[];
  /** The words of values; the values themselves by default. */
  choices?: Readonly<Record<string, Choices>>;
  isDisabled?: boolean | undefined;
}

/** What the fields of a form need of the JSON schema of a property. */
interface Property {
  title?: string;
  description?: string;
  type?: string;
  format?: string;
  enum?: readonly string[];
  items?: Property;
  default?: unknown;
  minLength?: number;
  maxLength?: number;
  autocomplete?: string;
}

/** The fields of a form, made from its schema. */
export function Fields({ schema, form, only, choices = {}, isDisabled }: FieldsProps) {
  const { properties = {}, required = [] } = z.toJSONSchema(schema, { io: 'input', unrepresentable: 'any' });
  return (
    <div class="fields">
      {(only ?? Object.keys(properties)).map((name) => (
        <SchemaField
          key={name}
          name={name}
          form={form}
          property={properties[name] as Property}
          choices={choices[name]}
          isRequired={required.includes(name)}
          isDisabled={isDisabled}
        />
      ))}
    </div>
  );
}

interface SchemaFieldProps extends Pick<FieldsProps, 'form' | 'isDisabled'> {
  name: string;
  property: Property;
  choices: Choices | undefined;
  isRequired: boolean;
}

function SchemaField({ name, form, property, choices, isRequired, isDisabled }: SchemaFieldProps) {
  const { title = inWords(name), description: hint, type, format, items } = property;
  const field = { name, form, hint, label: title };
  if (type === 'array') return <CheckboxesField {...field} choices={choices ?? plain(items?.enum)} />;
  if (type === 'boolean') return <CheckboxField {...field} />;
  if (type === 'object') return <JsonField {...field} />;
  if (choices !== undefined || property.enum !== undefined) {
    const initial = typeof property.default === 'string' ? property.default : '';
    return <SelectField {...field} choices={choices ?? plain(property.enum)} initial={initial} />;
  }
  const isWhole = type === 'integer' || format === 'digits';
  const inputMode = isWhole ? 'numeric' : format === 'decimal' ? 'decimal' : undefined;
  const kinds = { email: 'email', uri: 'url', date: 'date', password: 'password' } as const;
  const kind = Object.hasOwn(kinds, format ?? '') ? kinds[format as keyof typeof kinds] : 'text';
  return (
    <TextField
      {...field}
      {...attributesOf(property)}
      type={kind}
      required={isRequired}
      inputMode={inputMode}
      disabled={isDisabled ?? false}
    />
  );
}

/** What an input says of its text. A secret is never one that the browser has stored for the sign-in. */
function attributesOf({ minLength, maxLength, format, autocomplete }: Property) {
  return {
    ...(minLength !== undefined && { minLength }),
    ...(maxLength !== undefined && { maxLength }),
    ...(format === 'password' && { autocomplete: 'new-password' }),
    ...(autocomplete !== undefined && { autocomplete }),
  };
}

/** A new password; browsers offer to generate one. @param consequence shown after the length rule. */
export function newPasswordInput(title: string, consequence = '') {
  const { min: minLength, max: maxLength } = passwordLength;
  const description = `${minLength} to ${maxLength} characters, such as four unrelated words. ${consequence}`;
  return z.string().meta({ title, description, format: 'password', minLength, maxLength });
}

function plain(values: readonly string[] = []): Choices {
  return values.map((value) => [value, value]);
}

/** `expiresInDays` becomes "Expires in days". */
function inWords(name: string): string {
  return capitalized(name.replaceAll(/[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`));
}
