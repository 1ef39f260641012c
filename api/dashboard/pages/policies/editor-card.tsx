import { type Policy, policySchema } from '../../../../shared/policies/policy.ts';
import type { Context } from '../../http/access.ts';
import { Badge } from '../../layout/badge.tsx';
import { isSamePolicy } from './changes.ts';
import type { EditorFocus } from './editor-focus.ts';
import { policyInputOf } from './entered-policy.ts';
import { PolicyLines } from './policy-cards.tsx';
import type { PolicyPlace } from './policy-field.tsx';
import { PolicyFields } from './policy-fields.tsx';
import { stepButton } from './step-button.ts';

export interface EditorCardProps {
  context: Context;
  /** The policies that hold. */
  current: readonly Policy[];
  at: PolicyPlace;
  /** Its place in the list. */
  index: number;
  isLast: boolean;
  /** True behind a policy that is for every refund. */
  isNeverAsked: boolean;
  /** The part of it that somebody goes on with; null when none. */
  focus: EditorFocus['on'] | null;
}

/** One policy of the editor: in words, with its place in the order, and its fields behind a click. */
export function EditorCard(props: EditorCardProps) {
  const { context, current, at, index, isLast, isNeverAsked, focus } = props;
  const { prefix, entered, problems } = at;
  const name = entered.texts.name || 'New policy';
  const parsed = policySchema.safeParse(policyInputOf(entered));
  const before = current.find((policy) => policy.name === entered.texts.name);
  const isSame = before !== undefined && parsed.success && isSamePolicy(before, parsed.data);
  const hasProblem = Object.keys(problems).length > 0;
  const inFocus = focus === 'name' || focus === 'metadata' ? focus : null;
  return (
    <section class="card stack-tight" aria-labelledby={`${prefix}title`}>
      <div class="spread">
        <div class="row">
          <h3 id={`${prefix}title`}>
            <span class="muted">{index + 1}.</span> {name}
          </h3>
          {isSame ? null : <Badge tone="wait">{before === undefined ? 'New' : 'Changed'}</Badge>}
          {isNeverAsked ? <Badge tone="warn">Never asked</Badge> : null}
        </div>
        <Order {...{ context, index, isLast, name, focus }} />
      </div>
      {isNeverAsked ? (
        <p class="small muted">A policy above is for every refund, and the first that matches decides.</p>
      ) : null}
      {parsed.success ? <PolicyLines policy={parsed.data} /> : null}
      <details class="more" open={hasProblem || !isSame || inFocus !== null}>
        <summary>
          Edit<span class="visually-hidden"> {name}</span>
        </summary>
        <PolicyFields at={at} moreMetadata={stepButton(context, `metadata.${index}`)} focus={inFocus} />
      </details>
    </section>
  );
}

function Order({
  context,
  index,
  isLast,
  name,
  focus,
}: Pick<EditorCardProps, 'context' | 'index' | 'isLast' | 'focus'> & { name: string }) {
  const buttons = [
    { step: 'up', words: 'Move up', isOff: index === 0 },
    { step: 'down', words: 'Move down', isOff: isLast },
    { step: 'remove', words: 'Remove', isOff: false },
  ] as const;
  return (
    <div class="row">
      {buttons.map(({ step, words, isOff }) => (
        <button
          key={step}
          {...stepButton(context, `${step}.${index}`)}
          class="button"
          data-kind={step === 'remove' ? 'danger' : undefined}
          disabled={isOff}
          data-disabled={isOff ? '' : undefined}
          {...(focus === step ? { autofocus: true } : {})}
        >
          {words}
          <span class="visually-hidden"> {name}</span>
        </button>
      ))}
    </div>
  );
}
