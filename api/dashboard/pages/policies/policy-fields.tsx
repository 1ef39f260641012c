import { processorNames } from '../../../../shared/processors/registry.ts';
import { refundReasons } from '../../../../shared/refunds/model/reasons.ts';
import { processorWord, reasonWords } from '../../layout/words.ts';
import { MetadataFields } from './metadata-fields.tsx';
import {
  FieldGroup,
  PolicyAmount,
  PolicyChoice,
  PolicyChoices,
  PolicyCurrency,
  type PolicyPlace,
  PolicyText,
} from './policy-field.tsx';

export interface PolicyFieldsProps {
  at: PolicyPlace;
  /** Brings a line for metadata more. */
  moreMetadata: object;
  /** The part of it that somebody goes on with; null when none. */
  focus: 'name' | 'metadata' | null;
}

/** Everything that can be said in a policy. */
export function PolicyFields({ at, moreMetadata, focus }: PolicyFieldsProps) {
  const unit = at.entered.texts.amountsIn.toUpperCase();
  return (
    <div class="stack">
      <input type="hidden" name={`${at.prefix}priority`} value={at.entered.texts.priority} />
      <div class="fields">
        <PolicyText
          at={at}
          field="name"
          label="Name"
          hint="For people; shown in reasons."
          maxLength={100}
          autofocus={focus === 'name'}
        />
        <PolicyCurrency
          at={at}
          field="amountsIn"
          label="Amounts are in"
          hint="The currency in which you write the amounts of this policy, such as USD."
        />
      </div>
      <MatchFields at={at} unit={unit} more={moreMetadata} isFocused={focus === 'metadata'} />
      <LimitFields at={at} unit={unit} />
      <ApprovalFields at={at} unit={unit} />
      <DenialFields at={at} />
    </div>
  );
}

interface GroupProps {
  at: PolicyPlace;
  /** The currency of its amounts, in capitals. */
  unit: string;
}

function MatchFields({ at, unit, more, isFocused }: GroupProps & { more: object; isFocused: boolean }) {
  return (
    <FieldGroup legend="For which refunds">
      <p class="small muted">All that is given has to hold. Nothing given: the policy is for every refund.</p>
      <PolicyChoices
        at={at}
        field="match.processors"
        label="Processors"
        choices={processorNames.map((name) => [name, processorWord(name)])}
      />
      <PolicyChoices
        at={at}
        field="match.reasons"
        label="Reasons"
        choices={refundReasons.map((reason) => [reason, reasonWords[reason]])}
      />
      <PolicyText
        at={at}
        field="match.currencies"
        label="Currencies of the payment"
        hint="Such as USD, or USD, EUR. Empty: every currency, and then an amount is the same number of smallest units in each: 50.00 USD are 5000 JPY."
        maxLength={1_000}
      />
      <div class="fields">
        <PolicyAmount
          at={at}
          field="match.amount.min"
          label={`Refunds from (${unit})`}
          hint="This amount included. Empty: from any."
        />
        <PolicyAmount
          at={at}
          field="match.amount.max"
          label={`Refunds up to (${unit})`}
          hint="This amount included. Empty: up to any."
        />
      </div>
      <MetadataFields at={at} more={more} isFocused={isFocused} />
    </FieldGroup>
  );
}

function LimitFields({ at, unit }: GroupProps) {
  return (
    <FieldGroup legend="What is allowed">
      <div class="fields">
        <PolicyChoice at={at} field="finalSale" label="Final sale" no="No" yes="Yes: no refunds at all" />
        <PolicyText
          at={at}
          field="windowDays"
          label="Refund window (days)"
          hint="So many times 24 hours after the charge. Empty: at any time."
          inputMode="numeric"
        />
        <PolicyText
          at={at}
          field="maxPercent"
          label="At most of a payment (%)"
          hint="All its refunds together. Empty: all of it."
          inputMode="numeric"
        />
      </div>
      <div class="fields">
        <PolicyAmount
          at={at}
          field="maxAmount.amount"
          label="At most per payment (amount)"
          hint="All its refunds together. Empty: no limit."
        />
        <PolicyCurrency
          at={at}
          field="maxAmount.currency"
          label="Currency of that amount"
          hint="For payments in other currencies the limit does not hold."
        />
      </div>
      <div class="fields">
        <PolicyText
          at={at}
          field="velocity.perTransaction"
          label="Refunds per payment (number)"
          hint="Empty: no limit."
          inputMode="numeric"
        />
        <PolicyText
          at={at}
          field="velocity.perDay.count"
          label="Refunds in 24 hours (number)"
          hint="Of the whole organization. Empty: no limit."
          inputMode="numeric"
        />
        <PolicyAmount
          at={at}
          field="velocity.perDay.amount"
          label={`Refunds in 24 hours (${unit})`}
          hint="Their sum, in the currency of the payment. Empty: no limit."
        />
      </div>
    </FieldGroup>
  );
}

function ApprovalFields({ at, unit }: GroupProps) {
  return (
    <FieldGroup legend="When a person has to agree">
      <p class="small muted">
        Refunds of more than this wait until somebody approves them. 0: every refund waits. Empty: none does.
      </p>
      <div class="fields">
        <PolicyAmount at={at} field="approvalAbove.api" label={`Over the API, above (${unit})`} />
        <PolicyAmount at={at} field="approvalAbove.dashboard" label={`Of people here, above (${unit})`} />
        <PolicyAmount at={at} field="approvalAbove.mcp" label={`Of agents, above (${unit})`} />
      </div>
    </FieldGroup>
  );
}

function DenialFields({ at }: { at: PolicyPlace }) {
  const answers = { no: 'Is told, and may be passed over', yes: 'Stops the refund' };
  return (
    <FieldGroup legend="What a denial does">
      <div class="fields">
        <PolicyChoice at={at} field="enforce.api" label="To refunds over the API" {...answers} />
        <PolicyChoice at={at} field="enforce.dashboard" label="To refunds of people here" {...answers} />
      </div>
      <p class="small muted">Refunds of agents are always stopped.</p>
    </FieldGroup>
  );
}
