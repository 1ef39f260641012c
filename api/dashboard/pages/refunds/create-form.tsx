import { currencies } from '../../../../shared/money/money.ts';
import type { KnownPayment } from '../../../../shared/payments/payment.ts';
import type { PolicyVerdict } from '../../../../shared/policies/policy.ts';
import { isClientSecret } from '../../../../shared/processors/contract/credentials.ts';
import { processorNames } from '../../../../shared/processors/registry.ts';
import { refundReasons } from '../../../../shared/refunds/model/reasons.ts';
import type { Context } from '../../http/access.ts';
import type { FormProblems } from '../../http/forms.ts';
import { CsrfField, Field, FormNotice, inputProps } from '../../layout/form.tsx';
import { Frame } from '../../layout/frame.tsx';
import { Notice } from '../../layout/notice.tsx';
import { Amount, Sentence } from '../../layout/values.tsx';
import { processorWord, reasonWords } from '../../layout/words.ts';
import { type EnteredRefund, entryFields, type RefundEntry } from './create-entry.ts';
import { Metadata, PaymentFacts } from './facts.tsx';

export interface CreateFormProps {
  context: Context;
  entered: EnteredRefund;
  formKey: string;
  problems: FormProblems;
}

/** The first step: the refund's fields. */
export function CreateForm({ context, entered, formKey, problems }: CreateFormProps) {
  return (
    <Frame context={context} title="Create refund" section="refunds">
      <div>
        <form method="post" action={`${context.base}/refunds/new`} class="card stack narrow">
          <FormNotice problems={problems} />
          <CsrfField token={context.csrfToken} />
          <input type="hidden" name="formKey" value={formKey} />
          <Field
            name="transactionId"
            label="Transaction ID"
            hint="The ID of the payment at the processor."
            problem={problems.transactionId}
          >
            <input
              {...inputProps('transactionId', problems.transactionId)}
              value={isClientSecret(entered.transactionId) ? '' : entered.transactionId}
              required
              maxLength={255}
              autocomplete="off"
              spellcheck={false}
            />
          </Field>
          <div class="fields">
            <Field name="amount" label="Amount" hint="For example 10.50." problem={problems.amount}>
              <input
                {...inputProps('amount', problems.amount)}
                value={entered.amount}
                required
                inputMode="decimal"
                maxLength={20}
                autocomplete="off"
              />
            </Field>
            <Choice
              name="currency"
              label="Currency"
              hint="The payment's currency."
              chosen={entered.currency || 'usd'}
              problems={problems}
              options={currencies.map((code) => [code, code.toUpperCase()])}
            />
          </div>
          <div class="fields">
            <Choice
              name="reason"
              label="Reason"
              chosen={entered.reason}
              problems={problems}
              options={[['', 'Choose'], ...refundReasons.map((name) => [name, reasonWords[name]] as const)]}
            />
            <Choice
              name="processor"
              label="Processor"
              chosen={entered.processor}
              problems={problems}
              options={[
                ['', 'Detect automatically'],
                ...processorNames.map((name) => [name, processorWord(name)] as const),
              ]}
            />
          </div>
          <Field
            name="metadata"
            label="Metadata (optional)"
            hint={'A JSON object stored with the refund: {"ticket": "T-1001"}. Do not include card numbers.'}
            problem={problems.metadata}
          >
            <textarea {...inputProps('metadata', problems.metadata)} class="mono" spellcheck={false} rows={3}>
              {entered.metadata}
            </textarea>
          </Field>
          <div class="row">
            <button type="submit" class="button" data-kind="primary" name="step" value="check">
              Review
            </button>
            <a class="button" href={`${context.base}/refunds`}>
              Cancel
            </a>
          </div>
          <p class="hint muted small">You can review the payment before the refund is created.</p>
        </form>
      </div>
    </Frame>
  );
}

interface ChoiceProps {
  name: 'currency' | 'reason' | 'processor';
  label: string;
  hint?: string;
  chosen: string;
  problems: FormProblems;
  options: readonly (readonly [value: string, words: string])[];
}

function Choice({ name, label, hint, chosen, problems, options }: ChoiceProps) {
  return (
    <Field name={name} label={label} hint={hint} problem={problems[name]}>
      <select {...inputProps(name, problems[name])} required={name !== 'processor'}>
        {options.map(([value, words]) => (
          <option key={value} value={value} selected={value === chosen}>
            {words}
          </option>
        ))}
      </select>
    </Field>
  );
}

export interface CreateReviewProps extends Omit<CreateFormProps, 'problems'> {
  entry: RefundEntry;
  payment: KnownPayment;
  verdict: PolicyVerdict;
}

/** The second step: the payment and the policy decision, before anything is created. */
export function CreateReview({ context, entered, entry, formKey, payment, verdict }: CreateReviewProps) {
  const amount = <Amount amount={entry.amount} currency={entry.currency} />;
  return (
    <Frame context={context} title="Review refund" section="refunds">
      <div class="stack">
        <PolicyDecision verdict={verdict} />
        <div class="columns">
          <section class="card stack" aria-labelledby="asked">
            <h2 id="asked">Refund</h2>
            <dl class="facts">
              <dt>Amount</dt>
              <dd>{amount}</dd>
              <dt>Reason</dt>
              <dd>{reasonWords[entry.reason]}</dd>
            </dl>
          </section>
          <PaymentFacts payment={payment} transactionId={entry.transactionId} />
        </div>
        <Metadata metadata={entry.metadata} />
        <form method="post" action={`${context.base}/refunds/new`} class="row">
          <CsrfField token={context.csrfToken} />
          <input type="hidden" name="formKey" value={formKey} />
          {entryFields.map((field) => (
            <input key={field} type="hidden" name={field} value={entered[field]} />
          ))}
          {verdict.eligible || !verdict.enforced ? (
            <button type="submit" class="button" data-kind="primary" name="step" value="confirm">
              Refund {amount}
            </button>
          ) : null}
          <button type="submit" class="button" name="step" value="change">
            Edit
          </button>
          <a class="button" href={`${context.base}/refunds`}>
            Cancel
          </a>
        </form>
      </div>
    </Frame>
  );
}

function PolicyDecision({ verdict }: { verdict: PolicyVerdict }) {
  const { eligible, enforced, reason, approvalRequired, conditions, policyName } = verdict;
  const [tone, heading] = eligible
    ? (['good', 'Allowed by policy'] as const)
    : enforced
      ? (['bad', 'Denied by policy'] as const)
      : (['warn', 'The policy advises against this refund. You can still create it.'] as const);
  return (
    <Notice tone={tone}>
      <strong>{heading}</strong>
      <p>
        <Sentence text={reason} />
      </p>
      {approvalRequired && !eligible && !enforced ? <p>The refund will require approval.</p> : null}
      <p class="small">{policyName === null ? 'No policy matches this payment.' : `Policy: ${policyName}`}</p>
      {policyName === null ? null : (
        <ul class="small">
          {conditions.map((condition) => (
            <li key={condition}>
              <Sentence text={condition} />
            </li>
          ))}
        </ul>
      )}
    </Notice>
  );
}
