import type { ComponentChildren } from 'preact';
import { asKnown, remainingOf } from '#shared/payments/payment.ts';
import type { Payment, ProcessorAccount, Refund } from '#shared/platform/database.ts';
import { displayNameOf, processorKinds } from '#shared/processors/registry.ts';
import { type Arrival, arrivalOf } from '#shared/refunds/model/arrival.ts';
import { type RefundWithWork, refundOptionsOf } from '#shared/refunds/model/refund.ts';
import { isTerminal } from '#shared/refunds/model/states.ts';
import { StatusBadge } from '../../components/badge.tsx';
import { Link } from '../../components/button.tsx';
import { Card, type Fact, Facts } from '../../components/card.tsx';
import { List } from '../../components/list.tsx';
import { Amount, Copyable, Moment } from '../../components/values.tsx';
import { inDay, inMoney } from '../../words/numbers.ts';
import { reasonWords, requesterWords } from '../../words/words.ts';

interface RefundFactsProps {
  refund: RefundWithWork;
  who: string | null;
  /** True when the processor may have it although it ended otherwise. */
  isUncertain: boolean;
  account: Pick<ProcessorAccount, 'name' | 'isDefault'>;
  payment: Pick<Payment, 'hasTransfer' | 'transferDestination'>;
}

/** The public fields of a refund, and when it arrives. */
export function RefundFacts({ refund, who, isUncertain, account, payment }: RefundFactsProps) {
  const { id, externalRefundId, amount, currency, reason, initiatedBy } = refund;
  const arrival = arrivalOf(refund, refund.work?.waitingFor ?? null);
  return (
    <Card id="refund" title="Refund">
      <Facts
        facts={[
          ['Amount', <Amount key="amount" amount={amount} currency={currency} />],
          ['Reason', reasonWords[reason]],
          ['ID', <Copyable key="id" text={id} label="the refund ID" />],
          [
            `At ${displayNameOf(refund.processor)}`,
            externalRefundId === null ? (
              absenceOf(refund, isUncertain)
            ) : (
              <Copyable text={externalRefundId} label="the processor's refund ID" />
            ),
          ],
          ['Account', account.isDefault ? null : account.name],
          ['Paid by', payerOf(refund, payment)],
          [
            'Application fee',
            refundOptionsOf(refund).refundApplicationFee === true ? 'Refunded in proportion' : null,
          ],
          ['Expected at the bank', arrival && atTheBank(arrival)],
          [
            'Bank reference',
            arrival?.reference == null ? null : (
              <Copyable text={arrival.reference} label="the reference of the bank" />
            ),
          ],
          ['Requested by', requesterWords(initiatedBy, who)],
          ['Created', <Moment key="created" at={refund.createdAt} />],
          ['Updated', <Moment key="updated" at={refund.updatedAt} />],
        ]}
      />
      <Metadata metadata={refund.metadata} />
    </Card>
  );
}

/** Who pays the refund of a payment that was transferred to a connected account; null for any other. */
function payerOf(
  refund: RefundWithWork,
  { hasTransfer, transferDestination }: RefundFactsProps['payment'],
): ComponentChildren {
  if (hasTransfer !== true) return null;
  if (refundOptionsOf(refund).reverseTransfer !== true) return 'The platform pays this refund';
  const { amount, currency } = refund;
  return (
    <>
      Up to <Amount amount={amount} currency={currency} /> come back from{' '}
      <code>{transferDestination ?? 'the connected account'}</code>
    </>
  );
}

/** What is known of a refund without an ID of its processor. */
function absenceOf({ status, work }: RefundWithWork, isUncertain: boolean): string {
  if (isUncertain || work?.unknownSince != null || work?.attemptStartedAt != null) return 'Not known yet';
  return isTerminal(status) ? 'None' : 'Not sent yet';
}

interface PaymentCardProps {
  payment: ShownPayment;
  /** The one of its ids that the request names. */
  transactionId: string;
  /** What may have moved besides what is on record. */
  uncounted?: bigint;
  /** The page of the payment, if this is another one. */
  page?: string;
  children?: ComponentChildren;
}

type ShownPayment = Pick<
  Payment,
  | 'environment'
  | 'amount'
  | 'currency'
  | 'chargedAt'
  | 'reserved'
  | 'refundedOutside'
  | 'fetchedAt'
  | 'hasTransfer'
  | 'hasApplicationFee'
  | 'transferDestination'
> & { processor: string };

/** The payment as last read, the refunded amounts and the remaining amount. */
export function PaymentCard({ payment, transactionId, page, uncounted = 0n, children }: PaymentCardProps) {
  const known = asKnown(payment);
  return (
    <Card id="payment" title={page === undefined ? 'Payment' : <Link to={page}>Payment</Link>}>
      <Facts
        facts={[
          ['Payment ID', <Copyable key="id" text={transactionId} label="the payment ID" />],
          ['Processor', <ProcessorPage key="processor" payment={payment} transactionId={transactionId} />],
          ...(known === null ? [] : balanceOf(known, uncounted)),
          ['Transfer', payment.hasTransfer === true ? transferOf(payment) : null],
          ['Application fee', payment.hasApplicationFee === true ? 'Taken by the platform' : null],
        ]}
      />
      {known === null ? (
        <p class="muted">The payment has not been read yet. It is read before the refund is sent.</p>
      ) : null}
      {children}
    </Card>
  );
}

function transferOf({ transferDestination }: Pick<Payment, 'transferDestination'>): ComponentChildren {
  return transferDestination === null ? (
    'To a connected account'
  ) : (
    <>
      To <code>{transferDestination}</code>
    </>
  );
}

function ProcessorPage({ payment, transactionId }: PaymentCardProps) {
  const { processor, environment } = payment;
  const page = processorKinds[processor]?.paymentPage?.(transactionId, environment);
  if (page === undefined) return <>{displayNameOf(processor)}</>;
  return (
    <a href={page} rel="noreferrer" target="_blank">
      Open in {displayNameOf(processor)}
    </a>
  );
}

function balanceOf(payment: ReturnType<typeof asKnown<ShownPayment>> & object, uncounted: bigint): Fact[] {
  const { amount, currency, reserved, refundedOutside, chargedAt, fetchedAt } = payment;
  const left = (remainingOf(payment) ?? 0n) - uncounted;
  return [
    ['Paid', <Moment key="paid" at={chargedAt} />],
    ['Amount', <Amount key="amount" amount={amount} currency={currency} />],
    [
      'Refunded here',
      <>
        <Amount amount={reserved} currency={currency} />{' '}
        <span class="small muted">completed and in progress</span>
      </>,
    ],
    ['Refunded elsewhere', <Amount key="elsewhere" amount={refundedOutside} currency={currency} />],
    [
      'Still refundable',
      <>
        <Amount amount={left > 0n ? left : 0n} currency={currency} />{' '}
        <span class="small muted">
          {uncounted > 0n && `without ${inMoney(uncounted, currency)} that may have moved; `}
          {fetchedAt === null ? (
            'read again before the next refund'
          ) : (
            <>
              refunds elsewhere as of <Moment at={fetchedAt} />
            </>
          )}
        </span>
      </>,
    ],
  ];
}

interface PaymentRefundsProps {
  refunds: readonly (Pick<Refund, 'id' | 'currency' | 'status'> & {
    amount: bigint | number;
    createdAt: Date | string;
  })[];
  /** True for those beside the one of the page. */
  areOthers?: boolean;
}

export function PaymentRefunds({ refunds, areOthers = false }: PaymentRefundsProps) {
  if (refunds.length === 0) return areOthers ? null : <p class="muted">No refunds created here yet.</p>;
  return (
    <List
      isInCard={areOthers}
      isCompact
      caption="Refunds of the payment, newest first"
      items={refunds}
      columns={[
        [
          areOthers ? 'Other refunds' : 'Refunds',
          ({ id, amount, currency }) => (
            <Link class="row-link" to={`/refunds/${id}`}>
              <Amount amount={BigInt(amount)} currency={currency} />
            </Link>
          ),
        ],
        ['Status', ({ status }) => <StatusBadge status={status} />],
        ['Created', ({ createdAt }) => <Moment at={new Date(createdAt)} />],
      ]}
    />
  );
}

/** The refund's metadata by key, below its other facts. */
export function Metadata({ metadata }: { metadata: unknown }) {
  const facts = metadataFacts(metadata);
  if (facts.length === 0) return null;
  return (
    <>
      <h3>Metadata</h3>
      <Facts facts={facts} />
    </>
  );
}

/** The first level of the metadata; what is deeper as JSON. */
export function metadataFacts(metadata: unknown): Fact[] {
  return Object.entries((metadata ?? {}) as Record<string, unknown>).map(([key, value]) => [
    key,
    <span key={key} class="said">
      {typeof value === 'string' ? value : JSON.stringify(value)}
    </span>,
  ]);
}

function atTheBank({ kind, expectedBy }: Arrival): string | null {
  if (kind === 'reversal') return 'The charge disappears; no credit follows';
  return expectedBy === null ? null : `Usually by ${inDay(expectedBy)}`;
}
