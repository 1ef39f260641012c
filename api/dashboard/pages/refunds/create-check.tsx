import type { KnownPayment } from '../../../../shared/payments/payment.ts';
import type { PolicyVerdict } from '../../../../shared/policies/policy.ts';
import type { Context } from '../../http/access.ts';
import { CsrfField } from '../../layout/form.tsx';
import { Frame } from '../../layout/frame.tsx';
import { Notice } from '../../layout/notice.tsx';
import { Amount, Sentence } from '../../layout/values.tsx';
import { reasonWords } from '../../layout/words.ts';
import { type EnteredRefund, entryFields, type RefundEntry } from './create-entry.ts';
import { Metadata, PaymentFacts } from './facts.tsx';

export interface CreateCheckProps {
  context: Context;
  entered: EnteredRefund;
  entry: RefundEntry;
  formKey: string;
  payment: KnownPayment;
  verdict: PolicyVerdict;
}

/** The second step: the payment and what the policies say, before any money moves. */
export function CreateCheck(props: CreateCheckProps) {
  const { context, entry, payment, verdict } = props;
  return (
    <Frame context={context} title="Confirm the refund" room="refunds">
      <div class="stack">
        <Verdict verdict={verdict} />
        <div class="columns">
          <Asked entry={entry} />
          <PaymentFacts payment={payment} />
        </div>
        <Metadata metadata={entry.metadata} />
        <Steps {...props} />
      </div>
    </Frame>
  );
}

function Verdict({
  verdict: { eligible, enforced, reason, approvalRequired, conditions, policyName },
}: {
  verdict: PolicyVerdict;
}) {
  const heading = eligible
    ? 'Allowed.'
    : enforced
      ? 'The policy does not allow it.'
      : 'The policy advises against it; you may go on all the same.';
  return (
    <Notice tone={eligible ? 'good' : enforced ? 'bad' : 'warn'}>
      <strong>{heading}</strong>
      <p>
        <Sentence text={reason} />
      </p>
      {approvalRequired && !eligible && !enforced ? <p>It then waits for somebody to approve it.</p> : null}
      <p class="small">
        {policyName === null ? 'No policy speaks of this payment.' : `Policy: ${policyName}`}
      </p>
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

function Asked({ entry: { amount, currency, reason } }: { entry: RefundEntry }) {
  return (
    <section class="card stack" aria-labelledby="asked">
      <h2 id="asked">Refund</h2>
      <dl class="facts">
        <dt>Amount</dt>
        <dd>
          <Amount amount={amount} currency={currency} />
        </dd>
        <dt>Reason</dt>
        <dd>{reasonWords[reason]}</dd>
      </dl>
    </section>
  );
}

function Steps({ context, entered, entry, formKey, verdict }: CreateCheckProps) {
  const { amount, currency } = entry;
  return (
    <form method="post" action={`${context.base}/refunds/new`} class="row">
      <CsrfField token={context.csrfToken} />
      <input type="hidden" name="formKey" value={formKey} />
      {entryFields.map((field) => (
        <input key={field} type="hidden" name={field} value={entered[field]} />
      ))}
      {verdict.eligible || !verdict.enforced ? (
        <button type="submit" class="button" data-kind="primary" name="step" value="confirm">
          Refund <Amount amount={amount} currency={currency} />
        </button>
      ) : null}
      <button type="submit" class="button" name="step" value="change">
        Change
      </button>
      <a class="button" href={`${context.base}/refunds`}>
        Not now
      </a>
    </form>
  );
}
