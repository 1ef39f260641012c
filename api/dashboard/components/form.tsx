import type { ComponentChildren } from 'preact';
import type { z } from 'zod';
import { useAddress } from '../http/access.ts';
import type { FormState } from '../http/forms.ts';
import { useRequest } from '../http/render.ts';
import type { Choices } from '../words/words.ts';
import { ButtonLink, Submit } from './button.tsx';
import { Fields, propertiesOf } from './fields.tsx';
import { EntriesProvider } from './inputs.tsx';

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

/** The form as it was sent to this address, if it is why the page is shown again. */
export function useSubmitted(to: string): FormState | null {
  const { submitted, url } = useRequest();
  const isSent = pathOf(useAddress(to)) === pathOf(url);
  return isSent && submitted && !submitted.isButton ? submitted : null;
}

function pathOf(address: string): string {
  return address.split('?', 1)[0] ?? '';
}

interface FormProps {
  /** Where it is posted: an address, or a path below the environment. Its problems and entries are shown again when it is refused. */
  to: string;
  /** The label of its button. */
  submit: string;
  title?: string;
  /** Makes its fields, which follow the children. */
  schema?: z.ZodObject;
  /** The words of values, by field. */
  choices?: Readonly<Record<string, Choices>>;
  /** What its fields show at first. */
  initial?: unknown;
  /** The same with what is wrong with them, where the page has read the form itself. */
  entries?: FormState;
  /** The field that has the focus when the page opens; the first of its schema where the form is the page. */
  focus?: string;
  /** For what follows its fields. */
  id?: string;
  /** Shown beside its button, in a line that stays in sight. */
  bar?: ComponentChildren;
  /** The id of the element that the response replaces; otherwise the response is a page. */
  answeredIn?: string;
  /** The page to return to without a change. */
  cancel?: string;
  /** True if its button fills the line. */
  isWide?: boolean;
  isNarrow?: boolean;
  /** True if the page's main action is another one. */
  isSecondary?: boolean;
  children?: ComponentChildren;
}

/** A form that changes something, as a card. */
export function Form(props: FormProps) {
  const { to, submit, title, schema, choices, initial, answeredIn: id, children } = props;
  const { cancel, isWide, isNarrow, isSecondary, bar } = props;
  const submitted = useSubmitted(to);
  const entries = props.entries ?? submitted ?? { body: initial, problems: {} };
  const isWrong = Object.keys(entries.problems).length > 0;
  const isPage = isWide === true || cancel !== undefined;
  const first = isPage && schema ? Object.keys(propertiesOf(schema))[0] : undefined;
  const focus = isWrong ? undefined : (props.focus ?? first);
  const button = <Submit kind={isSecondary ? undefined : 'primary'}>{submit}</Submit>;
  return (
    <form
      {...postedTo(useAddress(to), id)}
      id={props.id}
      class={isNarrow ? 'card stack narrow' : 'card stack'}
      aria-label={title}
    >
      {title === undefined ? null : <h2>{title}</h2>}
      <CsrfField />
      <FormNotice problem={entries.problems.form} />
      <EntriesProvider value={{ ...entries, focus }}>
        {children}
        {schema && <Fields schema={schema} choices={choices} />}
      </EntriesProvider>
      {isWide ? (
        button
      ) : (
        <div class={bar === undefined ? 'row' : 'row action-bar'}>
          {button}
          {cancel === undefined ? null : <ButtonLink to={cancel}>Cancel</ButtonLink>}
          {bar}
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

/** An error of the form as a whole. A message that lists several problems, as the API separates them, has a line for each. */
export function FormNotice({ problem }: { problem: string | undefined }) {
  if (problem === undefined) return null;
  return (
    <p class="notice said" data-tone="bad" role="alert">
      {problem.replaceAll(' | ', '\n')}
    </p>
  );
}
