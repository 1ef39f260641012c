import { randomUUID } from 'node:crypto';
import type { KnownPayment } from '#shared/payments/payment.ts';
import type { PolicyVerdict } from '#shared/policies/policy.ts';
import { displayNameOf } from '#shared/processors/registry.ts';
import { ButtonLink, Submit } from '../../components/button.tsx';
import { Card, Facts } from '../../components/card.tsx';
import { Fields } from '../../components/fields.tsx';
import { CsrfField, Form, HiddenFields, postedTo, useSubmitted } from '../../components/form.tsx';
import { Notice } from '../../components/notice.tsx';
import { Amount, Sentence } from '../../components/values.tsx';
import { useAddress } from '../../http/access.ts';
import { entered } from '../../http/forms.ts';
import { Frame } from '../../layout/frame.tsx';
import { type Choices, reasonWords } from '../../words/words.ts';
import { entryChoices, entrySchema, type RefundEntry } from './create-entry.ts';
import { Metadata, PaymentCard } from './facts.tsx';
import { MetadataFields } from './metadata-fields.tsx';
import { OptionFields } from './refund-options.tsx';

const path = '/refunds/new';

interface CreateFormProps {
  /** What other pages know of the refund. */
  known: object;
  /** The accounts to choose from; empty where each processor has one at most. */
  accounts: Choices;
  hasConnected: boolean;
}

/** The first step: the refund's fields. */
export function CreateForm({ known, accounts, hasConnected }: CreateFormProps) {
  const submitted = useSubmitted(path);
  const choices = { ...entryChoices, account: [['', 'Detect automatically'], ...accounts] as Choices };
  const fields = (only: string[]) => <Fields schema={entrySchema} only={only} choices={choices} />;
  return (
    <Frame title="Create refund" section="refunds">
      <Form
        {...{ to: path, submit: 'Review', cancel: '/refunds', focus: 'transactionId' }}
        initial={{ currency: 'usd', ...known }}
        isNarrow
      >
        <HiddenFields
          values={{ step: 'check', formKey: entered(submitted?.body, 'formKey') || randomUUID() }}
        />
        {fields(['transactionId'])}
        {fields(['amount', 'currency'])}
        {fields(['reason', 'processor'])}
        {accounts.length > 0 ? fields(['account']) : null}
        {hasConnected ? fields(['connectedAccount']) : null}
        <MetadataFields />
        <p class="hint muted small">You can review the payment before the refund is created.</p>
      </Form>
    </Frame>
  );
}

interface CreateReviewProps {
  /** The form as it was submitted. */
  body: unknown;
  entry: RefundEntry;
  /** Null while its processor does not answer, or refuses credentials that have worked. */
  payment: KnownPayment | null;
  processor: string;
  /** Null without the payment: then no policy needs it. */
  verdict: PolicyVerdict | null;
}

/** The second step: the payment and the policy decision, before anything is created. */
export function CreateReview({ body, entry, payment, processor, verdict }: CreateReviewProps) {
  const { formKey } = entry;
  const metadata = entry.metadata === null ? '' : JSON.stringify(entry.metadata);
  // The options are chosen here, and the metadata is whole.
  const { step: _, reverseTransfer: __, refundApplicationFee: ___, ...others } = entrySchema.shape;
  const { metadataKey: _key, metadataValue: _value, ...shape } = others;
  const fields = Object.keys(shape).map((name) => [name, entered(body, name)]);
  const amount = <Amount amount={entry.amount} currency={entry.currency} />;
  return (
    <Frame title="Review refund" section="refunds">
      {verdict === null ? <Unread processor={processor} /> : <PolicyDecision verdict={verdict} />}
      <div class="columns">
        <Card id="refund" title="Refund">
          <Facts
            facts={[
              ['Payment', payment === null ? entry.transactionId : null],
              ['Amount', amount],
              ['Reason', reasonWords[entry.reason]],
            ]}
          />
          <Metadata metadata={entry.metadata} />
        </Card>
        {payment && <PaymentCard payment={{ ...payment, processor }} transactionId={entry.transactionId} />}
      </div>
      <form {...postedTo(useAddress(path))} class="stack">
        <CsrfField />
        {payment && <OptionFields {...payment} />}
        <HiddenFields values={{ ...Object.fromEntries(fields), metadata, formKey }} />
        <div class="row">
          {verdict === null || verdict.eligible || !verdict.enforced ? (
            <Submit kind="primary" name="step" value="confirm">
              <span>Refund {amount}</span>
            </Submit>
          ) : null}
          <Submit name="step" value="change">
            Edit
          </Submit>
          <ButtonLink to="/refunds">Cancel</ButtonLink>
        </div>
      </form>
    </Frame>
  );
}

/** The refund is accepted as by the API, and the payment is read before anything is sent. */
function Unread({ processor }: Pick<CreateReviewProps, 'processor'>) {
  return (
    <Notice tone="warn">
      <strong>The payment could not be read.</strong>
      <p>
        {displayNameOf(processor)} does not answer now. You can create the refund: it is checked against the
        payment before it is sent.
      </p>
    </Notice>
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
        <bdi>
          <Sentence text={reason} />
        </bdi>
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
