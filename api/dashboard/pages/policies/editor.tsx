import { currencies } from '../../../../shared/money/money.ts';
import type { Policy } from '../../../../shared/policies/policy.ts';
import type { Context } from '../../http/access.ts';
import type { FormProblems } from '../../http/forms.ts';
import { CsrfField, Field, FormNotice, inputProps } from '../../layout/form.tsx';
import { Notice } from '../../layout/notice.tsx';
import { type Draft, prefixOf } from './draft.ts';
import { EditorCard } from './editor-card.tsx';
import type { EditorFocus } from './editor-focus.ts';
import { type EnteredPolicy, isForEveryRefund } from './entered-policy.ts';
import { currencyListId } from './policy-field.tsx';
import { editorToldId, stepButton } from './step-button.ts';

export interface EditorProps {
  context: Context;
  /** The policies that hold. */
  current: readonly Policy[];
  /** The digest of the policies that the draft was made from. */
  madeFrom: string;
  draft: Draft;
  problems?: FormProblems;
  /** Where somebody goes on after a step. */
  focus?: EditorFocus | null;
}

/** Changes the policies, field by field or as JSON. Everything stands in the form until the preview is confirmed. */
export function Editor(props: EditorProps) {
  const { context, madeFrom, draft, problems = {} } = props;
  const isJson = draft.kind === 'json';
  return (
    <form method="post" action={`${context.base}/policies/preview`} id="editor" class="stack" noValidate>
      {/* The first button is the one that the key Enter presses. */}
      <button type="submit" class="visually-hidden" tabIndex={-1} aria-hidden="true">
        Preview
      </button>
      <CsrfField token={context.csrfToken} />
      <input type="hidden" name="madeFrom" value={madeFrom} />
      <div class="spread">
        <h2>The first that matches decides</h2>
        <div class="row">
          {isJson ? null : (
            <button
              {...stepButton(context, 'add.0')}
              class="button"
              {...(props.focus?.on === 'add' ? { autofocus: true } : {})}
            >
              Add a policy
            </button>
          )}
          <button {...stepButton(context, isJson ? 'form' : 'json')} class="button">
            {isJson ? 'Edit in the form' : 'Edit as JSON'}
          </button>
        </div>
      </div>
      <div id={editorToldId} />
      <FormNotice problems={problems} />
      {isJson || !Object.keys(problems).some((field) => field !== 'form') ? null : (
        <Notice tone="bad">Something has to be mended first; it is told at its field.</Notice>
      )}
      {draft.kind === 'json' ? (
        <JsonField file={draft.file} problem={problems.file} />
      ) : (
        <PolicyList {...props} policies={draft.policies} problems={problems} />
      )}
      <div class="row">
        <button type="submit" class="button" data-kind="primary">
          Preview
        </button>
        <a class="button" href={`${context.base}/policies`}>
          Discard
        </a>
        <p class="small muted">
          Tries them on the latest {context.environment} refunds. Nothing changes before you confirm.
        </p>
      </div>
    </form>
  );
}

function PolicyList(props: EditorProps & { policies: readonly EnteredPolicy[]; problems: FormProblems }) {
  const { context, current, policies, problems, focus = null } = props;
  const last = policies.findIndex(isForEveryRefund);
  const problemsByPolicy = problemsInPolicies(problems);
  const removed = current.filter(({ name }) => !policies.some(({ texts }) => texts.name === name));
  return (
    <>
      {removed.length === 0 ? null : (
        <Notice tone="warn">
          No longer there once you confirm: {removed.map(({ name }) => name).join(', ')}.
        </Notice>
      )}
      <ol class="stack">
        {policies.map((entered, index) => (
          <li key={prefixOf(index)}>
            <EditorCard
              context={context}
              current={current}
              at={{ prefix: prefixOf(index), entered, problems: problemsByPolicy.get(prefixOf(index)) ?? {} }}
              index={index}
              isLast={index === policies.length - 1}
              isNeverAsked={last !== -1 && index > last}
              focus={focus?.at === index ? focus.on : null}
            />
          </li>
        ))}
      </ol>
      <datalist id={currencyListId}>
        {currencies.map((code) => (
          <option key={code} value={code.toUpperCase()} />
        ))}
      </datalist>
    </>
  );
}

/** What is wrong with each policy, by what its fields begin with. */
function problemsInPolicies(problems: FormProblems): Map<string, FormProblems> {
  const byPolicy = new Map<string, Record<string, string | undefined>>();
  for (const [field, problem] of Object.entries(problems)) {
    const [prefix = ''] = /^policies\.\d+\./.exec(field) ?? [];
    const ofPolicy = byPolicy.get(prefix) ?? {};
    ofPolicy[field] = problem;
    byPolicy.set(prefix, ofPolicy);
  }
  return byPolicy;
}

function JsonField({ file, problem }: { file: string; problem: string | undefined }) {
  return (
    <div class="card">
      <Field
        name="file"
        label="Policies as JSON"
        hint="Amounts are in the smallest unit of the currency: 5000 is 50.00 USD. The lowest priority is asked first."
        problem={problem}
      >
        <textarea {...inputProps('file', problem)} class="mono" rows={24} spellcheck={false}>
          {file}
        </textarea>
      </Field>
    </div>
  );
}
