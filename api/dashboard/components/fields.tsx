import { z } from 'zod';
import { passwordLength } from '#shared/people/sign-in/passwords.ts';
import { type Choices, capitalized } from '../words/words.ts';
import { CheckboxesField, CheckboxField, JsonField, SelectField, TextField } from './inputs.tsx';

interface FieldsProps {
  /** Of a form, or the input of an operation: `title` and `description` of its fields become labels and hints. */
  schema: z.ZodType;
  /** All fields by default. */
  only?: readonly string[];
  /** The words of values; the values themselves by default. */
  choices?: Readonly<Record<string, Choices>> | undefined;
  isDisabled?: boolean | undefined;
}

/** What the fields of a form need of the JSON schema of a property. */
export interface Property {
  title?: string;
  description?: string;
  type?: string;
  format?: string;
  enum?: readonly string[];
  items?: Property;
  /** Of a nested object. */
  properties?: Record<string, Property>;
  /** The values to choose from, with their words. */
  choices?: Choices;
  default?: unknown;
  minLength?: number;
  maxLength?: number;
  autocomplete?: string;
}

/** The fields of a schema, by name; those of nested objects by their path: `match.amount.min`. */
export function propertiesOf(schema: z.ZodType): Readonly<Record<string, Property>> {
  return Object.fromEntries(leavesOf((inputOf(schema).properties ?? {}) as Record<string, Property>));
}

function leavesOf(properties: Readonly<Record<string, Property>>, above = ''): [path: string, Property][] {
  return Object.entries(properties).flatMap(([name, property]) =>
    property.properties === undefined
      ? [[`${above}${name}`, property]]
      : leavesOf(property.properties, `${above}${name}.`),
  );
}

function inputOf(schema: z.ZodType) {
  return z.toJSONSchema(schema, { io: 'input', unrepresentable: 'any' });
}

/** The fields of a form, made from its schema. */
export function Fields({ schema, only, choices = {}, isDisabled }: FieldsProps) {
  const { required = [] } = inputOf(schema);
  const properties = propertiesOf(schema);
  return (
    <div class="fields">
      {(only ?? Object.keys(properties)).map((name) => (
        <SchemaField
          key={name}
          name={name}
          property={properties[name] ?? {}}
          choices={choices[name]}
          isRequired={required.includes(name)}
          isDisabled={isDisabled}
        />
      ))}
    </div>
  );
}

interface SchemaFieldProps extends Pick<FieldsProps, 'isDisabled'> {
  name: string;
  property: Property;
  choices: Choices | undefined;
  isRequired: boolean;
}

function SchemaField({ name, property, choices, isRequired, isDisabled }: SchemaFieldProps) {
  const { description: hint, type, format } = property;
  const field = { name, hint, label: labelOf(name, property) };
  const offered = choicesOf(property, choices);
  if (type === 'array') return <CheckboxesField {...field} choices={offered ?? []} />;
  if (type === 'boolean') return <CheckboxField {...field} />;
  if (type === 'object') return <JsonField {...field} />;
  if (offered !== null) {
    const initial = typeof property.default === 'string' ? property.default : '';
    const isOpen = isRequired || property.default !== undefined || offered[0]?.[0] === '';
    const all: Choices = isOpen ? offered : [['', 'Any'], ...offered];
    return <SelectField {...field} choices={all} initial={initial} />;
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

/** The label of a field. */
export function labelOf(name: string, { title }: Property): string {
  return title ?? inWords(name);
}

/** What a field offers to choose from; null for one that takes any text. */
export function choicesOf(
  { type, items, enum: values, choices }: Property,
  words: Choices | undefined,
): Choices | null {
  const offered = type === 'array' ? items?.enum : values;
  return words ?? choices ?? offered?.map((value) => [value, value]) ?? null;
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

/** `expiresInDays` becomes "Expires in days". */
export function inWords(name: string): string {
  return capitalized(name.replaceAll(/[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`));
}
