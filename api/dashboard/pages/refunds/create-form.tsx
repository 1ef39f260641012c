import { currencies } from '../../../../shared/money/money.ts';
import { isClientSecret } from '../../../../shared/processors/contract/credentials.ts';
import { processorNames } from '../../../../shared/processors/registry.ts';
import { refundReasons } from '../../../../shared/refunds/model/reasons.ts';
import type { Context } from '../../http/access.ts';
import type { FormProblems } from '../../http/forms.ts';
import { CsrfField, Field, FormNotice, inputProps } from '../../layout/form.tsx';
import { Frame } from '../../layout/frame.tsx';
import { processorWord, reasonWords } from '../../layout/words.ts';
import type { EnteredRefund } from './create-entry.ts';

export interface CreateFormProps {
  context: Context;
  entered: EnteredRefund;
  /** Makes sending the form twice the same as sending it once. */
  formKey: string;
  problems: FormProblems;
}

/** The first step: what is to be refunded. */
export function CreateForm({ context, entered, formKey, problems }: CreateFormProps) {
  return (
    <Frame context={context} title="Create a refund" room="refunds">
      <div>
        <form method="post" action={`${context.base}/refunds/new`} class="card stack narrow">
          <FormNotice problems={problems} />
          <CsrfField token={context.csrfToken} />
          <input type="hidden" name="formKey" value={formKey} />
          <Field
            name="transactionId"
            label="Transaction"
            hint="The id of the payment at its processor."
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
          <MoneyFields entered={entered} problems={problems} />
          <Choices entered={entered} problems={problems} />
          <Field
            name="metadata"
            label="Metadata (optional)"
            hint={'Kept with the refund, as JSON: {"ticket": "T-1001"}. Put no card numbers into it.'}
            problem={problems.metadata}
          >
            <textarea {...inputProps('metadata', problems.metadata)} class="mono" spellcheck={false} rows={3}>
              {entered.metadata}
            </textarea>
          </Field>
          <div class="row">
            <button type="submit" class="button" data-kind="primary" name="step" value="check">
              Check
            </button>
            <a class="button" href={`${context.base}/refunds`}>
              Not now
            </a>
          </div>
          <p class="hint muted small">Nothing is refunded before you have seen the payment and confirmed.</p>
        </form>
      </div>
    </Frame>
  );
}

type FieldsProps = Pick<CreateFormProps, 'entered' | 'problems'>;

function MoneyFields({ entered, problems }: FieldsProps) {
  return (
    <div class="fields">
      <Field name="amount" label="Amount" hint="Such as 10.50." problem={problems.amount}>
        <input
          {...inputProps('amount', problems.amount)}
          value={entered.amount}
          required
          inputMode="decimal"
          maxLength={20}
          autocomplete="off"
        />
      </Field>
      <Field name="currency" label="Currency" hint="That of the payment." problem={problems.currency}>
        <select {...inputProps('currency', problems.currency)} required>
          {currencies.map((code) => (
            <option key={code} value={code} selected={code === (entered.currency || 'usd')}>
              {code.toUpperCase()}
            </option>
          ))}
        </select>
      </Field>
    </div>
  );
}

function Choices({ entered, problems }: FieldsProps) {
  return (
    <div class="fields">
      <Field name="reason" label="Reason" problem={problems.reason}>
        <select {...inputProps('reason', problems.reason)} required>
          <option value="">Choose</option>
          {refundReasons.map((reason) => (
            <option key={reason} value={reason} selected={reason === entered.reason}>
              {reasonWords[reason]}
            </option>
          ))}
        </select>
      </Field>
      <Field name="processor" label="Processor" problem={problems.processor}>
        <select {...inputProps('processor', problems.processor)}>
          <option value="">Find out</option>
          {processorNames.map((name) => (
            <option key={name} value={name} selected={name === entered.processor}>
              {processorWord(name)}
            </option>
          ))}
        </select>
      </Field>
    </div>
  );
}
