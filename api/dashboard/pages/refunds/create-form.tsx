import { randomUUID } from 'node:crypto';
import type { KnownPayment } from '#shared/payments/payment.ts';
import type { PolicyVerdict } from '#shared/policies/policy.ts';
import { isClientSecret } from '#shared/processors/contract/credentials.ts';
import { ButtonLink, Submit } from '../../components/button.tsx';
import { Card, Facts } from '../../components/card.tsx';
import {
  CsrfField,
  FormNotice,
  type FormState,
  HiddenFields,
  JsonField,
  postedTo,
  SelectField,
  TextField,
} from '../../components/form.tsx';
import { Notice } from '../../components/notice.tsx';
import { Amount, Sentence } from '../../components/values.tsx';
import { useAddress } from '../../http/access.ts';
import { entered } from '../../http/forms.ts';
import { Frame } from '../../layout/frame.tsx';
import { currencyChoices, processorChoices, reasonChoices, reasonWords } from '../../words/words.ts';
import { entrySchema, type RefundEntry } from './create-entry.ts';
import { Metadata, PaymentCard } from './facts.tsx';

/** The first step: the refund's fields. */
export function CreateForm({ form: { body, problems } }: { form: FormState }) {
  const transactionId = entered(body, 'transactionId');
  // A client secret is not sent back to the browser.
  const form = {
    body: isClientSecret(transactionId) ? { ...Object(body), transactionId: '' } : body,
    problems,
  };
  return (
    <Frame title="Create refund" section="refunds">
      <form {...postedTo(useAddress('/refunds/new'))} class="card stack narrow">
        <FormNotice problems={problems} />
        <CsrfField />
        <HiddenFields values={{ formKey: entered(body, 'formKey') || randomUUID() }} />
        <TextField
          form={form}
          name="transactionId"
          label="Payment ID"
          hint="The ID of the payment at the processor."
          required
          maxLength={255}
          spellcheck={false}
        />
        <div class="fields">
          <AmountField form={form} label="Amount" hint="For example 10.50." />
          <SelectField
            form={form}
            name="currency"
            label="Currency"
            hint="The payment's currency."
            choices={currencyChoices}
            initial="usd"
            required
          />
        </div>
        <div class="fields">
          <RefundReasonField form={form} />
          <SelectField
            form={form}
            name="processor"
            label="Processor"
            choices={[['', 'Detect automatically'], ...processorChoices]}
          />
        </div>
        <JsonField
          form={form}
          name="metadata"
          label="Metadata (optional)"
          hint={'A JSON object stored with the refund: {"ticket": "T-1001"}. Do not include card numbers.'}
        />
        <div class="row">
          <Submit kind="primary" name="step" value="check">
            Review
          </Submit>
          <ButtonLink to="/refunds">Cancel</ButtonLink>
        </div>
        <p class="hint muted small">You can review the payment before the refund is created.</p>
      </form>
    </Frame>
  );
}

interface AmountFieldProps {
  form: FormState;
  label: string;
  hint: string;
}

/** The amount of a refund, in decimals of its currency. */
export function AmountField(props: AmountFieldProps) {
  return <TextField {...props} name="amount" required inputMode="decimal" maxLength={20} />;
}

export function RefundReasonField({ form }: { form: FormState }) {
  const choices = [['', 'Choose'] as const, ...reasonChoices];
  return <SelectField form={form} name="reason" label="Reason" choices={choices} required />;
}

interface CreateReviewProps {
  /** The form as it was submitted. */
  body: unknown;
  entry: RefundEntry;
  payment: KnownPayment;
  verdict: PolicyVerdict;
}

/** The second step: the payment and the policy decision, before anything is created. */
export function CreateReview({ body, entry, payment, verdict }: CreateReviewProps) {
  const { formKey } = entry;
  const fields = Object.keys(entrySchema.shape).map((name) => [name, entered(body, name)]);
  const amount = <Amount amount={entry.amount} currency={entry.currency} />;
  return (
    <Frame title="Review refund" section="refunds">
      <PolicyDecision verdict={verdict} />
      <div class="columns">
        <Card id="refund" title="Refund">
          <Facts
            facts={[
              ['Amount', amount],
              ['Reason', reasonWords[entry.reason]],
            ]}
          />
          <Metadata metadata={entry.metadata} />
        </Card>
        <PaymentCard payment={payment} transactionId={entry.transactionId} />
      </div>
      <form {...postedTo(useAddress('/refunds/new'))} class="row">
        <CsrfField />
        <HiddenFields values={{ ...Object.fromEntries(fields), formKey }} />
        {verdict.eligible || !verdict.enforced ? (
          <Submit kind="primary" name="step" value="confirm">
            <span>Refund {amount}</span>
          </Submit>
        ) : null}
        <Submit name="step" value="change">
          Edit
        </Submit>
        <ButtonLink to="/refunds">Cancel</ButtonLink>
      </form>
    </Frame>
  );
}

function PolicyDecision({ verdict }: { verdict: PolicyVerdict }) {
  const { eligible, enforced, reason, approvalRequired, conditions, policyName } = verdict;
  const [tone, heading] = eligible
    ? (['good', 'Allowed by policy'] as const)
    : enforced
      ? (['bad', 'Denied by policy'] as const)
      : (['warn', 'Denied by policy, not blocked. You can still create it.'] as const);
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
