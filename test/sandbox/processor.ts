import type { z } from 'zod';
import type { Protocol } from './exchange.ts';
import type { Environment, Ledger, Payment, Refund } from './ledger.ts';
import type { WebhookRequest } from './webhooks.ts';

/** What a refund's status means for the money. */
export interface RefundStatus {
  /** True when the amount can be refunded again. */
  isReturned?: boolean;
}

/** What the state of a dispute means for its payment. */
export interface DisputeState {
  /** True when the customer has the money, or may get it, so that the payment is `disputed`. */
  isChargeback: boolean;
  isClosed: boolean;
}

/** What of a payment may be impossible. */
export type PaymentTerms = Pick<
  Payment,
  'amount' | 'capturedAmount' | 'currency' | 'connectedAccount' | 'transferTo' | 'applicationFee'
>;

/** All that the sandbox knows of one processor. A processor is a folder with one of these, and an entry in processors.ts. */
export interface SandboxProcessor {
  name: string;
  /** For people. */
  title: string;
  /** What the paths of its requests begin with, such as `/v1/`. */
  path: string;
  protocol: Protocol;
  payments: {
    /** Fields of its payments in the control API, besides those that all processors have. */
    fields: {
      id: z.ZodType<string>;
      paymentMethod: z.ZodType<string>;
      capturedAmount?: z.ZodOptional<z.ZodNumber>;
      card?: z.ZodOptional<z.ZodType<string>>;
      connectedAccount?: z.ZodOptional<z.ZodType<string>>;
      transferTo?: z.ZodOptional<z.ZodType<string>>;
      applicationFee?: z.ZodOptional<z.ZodNumber>;
      checkoutSession?: z.ZodOptional<z.ZodType<string>>;
      invoice?: z.ZodOptional<z.ZodType<string>>;
      orderId?: z.ZodOptional<z.ZodType<string>>;
    };
    /** The statuses that the control API can set, the usual one first. */
    statuses: readonly [string, ...string[]];
    /** The states of a dispute, the first one at its start. */
    disputes: Readonly<Record<string, DisputeState>>;
    newId(): string;
    /** True when an unknown id becomes a payment at its first use. */
    isPlausible(id: string): boolean;
    /** How such a payment was made. */
    unseenMethod(id: string): string;
    /** All ids of the payment that has the given one; the first is its own. Without it, a payment has one id. */
    idsOf?(id: string): readonly [string, ...string[]];
    /** Why the processor cannot have such a payment; null when it can. */
    problem?(payment: PaymentTerms): string | null;
  };
  refundStatuses: Readonly<Record<string, RefundStatus>>;
  webhooks: {
    /** What an endpoint's events are signed with, as the control API takes it. */
    keys: z.ZodRawShape;
    /** The same, of an account with these credentials. */
    keysOf(credentials: Record<string, string>): Record<string, string>;
    /** The events about a refund that is new (`previous` is null) or has changed. */
    events(ledger: Ledger, previous: Refund | null, refund: Refund): string[];
    /** The events about a payment that has changed. */
    paymentEvents?(previous: Payment, payment: Payment): string[];
    /** Called at each attempt, for signatures that age. */
    signed(event: string, keys: Record<string, string>): WebhookRequest;
  };
  /** The credentials of an account; without a name, of the one that tests and `npm run dev` use. */
  credentials(environment: Environment, account?: string): Record<string, string>;
}
