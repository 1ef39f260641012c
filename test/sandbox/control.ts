import { isIP } from 'node:net';
import { z } from 'zod';
import type { Answer, Call } from './exchange.ts';
import { FAULT_KINDS, OPERATIONS } from './faults.ts';
import {
  ACCOUNT_NAME,
  type Environment,
  type Ledger,
  mayNotExist,
  type Payment,
  type Scope,
} from './ledger.ts';
import { type MailServer, mailPage } from './mail-server.ts';
import type { PaymentTerms, SandboxProcessor } from './processor.ts';

const environment = z.enum(['test', 'live']);
const amount = z.int('must be a whole number of minor units').positive();
const milliseconds = z.int().nonnegative();

const accountName = z.string().regex(ACCOUNT_NAME, 'must be letters, digits and underscores').optional();

const anyPayment = {
  environment: environment.default('test'),
  account: accountName,
  amount,
  currency: z
    .string()
    .regex(/^[A-Za-z]{3}$/, 'must be a three-letter ISO 4217 code')
    .toLowerCase(),
  createdAt: z.iso
    .datetime({ offset: true })
    .transform((text) => Date.parse(text))
    .optional(),
};

const paymentChange = z.strictObject({
  status: z.string().optional(),
  dispute: z.string().optional(),
  capturedAmount: amount.optional(),
});

const refundChange = z.strictObject({
  status: z.string(),
  failureReason: z.string().min(1).optional(),
  bankReference: z.string().min(1).optional(),
  destinationType: z.enum(['refund', 'reversal', 'pending']).optional(),
});

const text = z.string().min(1).optional();

const failure = z.strictObject({
  status: z.int().min(400).max(599),
  ...{ code: text, message: text, type: text, param: text, message_code: text },
  headers: z.record(z.string(), z.string()).optional(),
});

const perSecond = z.int().positive().nullable();

const connectedChange = z.strictObject({
  environment: environment.default('test'),
  balance: z.int().nullable().optional(),
  isConnected: z.boolean().optional(),
});

const decision = z.strictObject({ decision: z.enum(['approved', 'denied']) });

/** What the control API takes that depends on the processors. */
function schemasOf(processors: readonly SandboxProcessor[]) {
  const processor = z.enum(processors.map(({ name }) => name));
  return {
    newPayment: z.discriminatedUnion('processor', unionOf(processors.map(newPayment))),
    refundFilter: z.strictObject({
      processor: processor.optional(),
      environment: environment.default('test'),
      transactionId: z.string().optional(),
      account: accountName,
      connectedAccount: z.string().optional(),
    }),
    newFault: z.strictObject({
      processor,
      operation: z.enum([...OPERATIONS, '*']),
      kind: z.enum(FAULT_KINDS),
      error: failure.optional(),
      times: z.int().positive().nullable().default(1),
      delayMs: milliseconds.optional(),
      probability: z.number().gt(0).lte(1).default(1),
      transactionId: z.string().min(1).nullable().default(null),
    }),
    settingsChange: z
      .strictObject({
        autoSettleMs: milliseconds.nullable(),
        latencyMs: milliseconds,
        rateLimits: z.strictObject({ perOperation: perSecond, perAccount: perSecond }),
        insufficientBalance: z.enum(['pending', 'refused']).nullable(),
        webhooks: z.array(z.discriminatedUnion('processor', unionOf(processors.map(newEndpoint)))),
      })
      .partial(),
  };
}

function newPayment({ name, payments: { fields, statuses } }: SandboxProcessor) {
  return z.strictObject({
    ...anyPayment,
    // Also without the captured amount, which few processors have.
    ...(fields as Required<typeof fields>),
    processor: z.literal(name),
    id: fields.id.refine((id) => !mayNotExist(id), "ids containing 'missing' never exist").optional(),
    status: z.enum(statuses).default(statuses[0]),
  });
}

function newEndpoint({ name, webhooks }: SandboxProcessor) {
  const keys = webhooks.keys as Record<string, z.ZodType<string>>;
  const url = z.url({ protocol: /^http$/ });
  return z.strictObject({ processor: z.literal(name), environment, account: accountName, url, ...keys });
}

/** @throws RangeError for a sandbox without processors. */
function unionOf<T>([first, ...others]: readonly T[]): [T, ...T[]] {
  if (first === undefined) throw new RangeError('A sandbox needs a processor.');
  return [first, ...others];
}

class ControlError extends Error {
  readonly status: number;

  constructor(status: number, message: string) {
    super(message);
    this.status = status;
  }
}

type Handler = (call: Call, id: string) => unknown;

/** The control API of a sandbox. @param mailServer whose mails it shows; null for none. */
export function controlApi(ledger: Ledger, mailServer: MailServer | null): (call: Call) => Answer {
  const { faults } = ledger;
  const schemas = schemasOf(ledger.processors);
  const handlers: Readonly<Record<string, Handler>> = {
    'GET health': () => ({ ok: true, pid: process.pid }),
    'POST transactions': (call) => addPayment(ledger, read(schemas.newPayment, call)),
    'POST transactions/:id': (call, id) => changePayment(ledger, id, call),
    'GET refunds': ({ query }) => listRefunds(ledger, check(schemas.refundFilter, givenIn(query))),
    'POST refunds/:id': (call, id) => changeRefund(ledger, id, call),
    'GET faults': () => ({ armed: faults.armed, strikes: faults.strikes }),
    'POST faults': (call) => {
      const fault = read(schemas.newFault, call);
      if ((fault.kind === 'error') !== (fault.error !== undefined))
        throw new ControlError(400, 'error: has to be given with the kind error, and with no other');
      faults.armed.push({ ...fault });
      return fault;
    },
    'DELETE faults': () => {
      faults.armed = [];
      return { ok: true };
    },
    'GET misdirected': () => ledger.misdirected,
    'GET approvals': () => ledger.approvals.list(),
    'POST approvals/:id': (call, id) => {
      const isKnown = ledger.approvals.decide(id, read(decision, call).decision === 'approved');
      if (!isKnown) throw new ControlError(404, `no request ${id} awaits approval`);
      return { ok: true };
    },
    'GET accounts': () => ledger.connectedAccounts(),
    'POST accounts/:id': (call, id) => {
      const { environment: scope, ...change } = read(connectedChange, call);
      const account = ledger.connectedAccount({ environment: scope }, id);
      const { balance = account.balance, isConnected = account.isConnected } = change;
      ledger.changeConnectedAccount({ ...account, balance, isConnected });
      return ledger.connectedAccount({ environment: scope }, id);
    },
    'POST settings': (call) => {
      ledger.changeSettings(read(schemas.settingsChange, call) as Partial<typeof ledger.settings>);
      return ledger.settings;
    },
  };
  return (call) => {
    try {
      refuseWebPages(call);
      const [, resource, id] = /^\/_sandbox\/(\w+)(?:\/([^/]+))?$/.exec(call.path) ?? [];
      const asked = `${call.method} ${resource}${id === undefined ? '' : '/:id'}`;
      if (asked === 'GET mail' && mailServer !== null) return { status: 200, ...mailPage(mailServer.mails) };
      const handle = handlers[asked];
      if (handle === undefined)
        throw new ControlError(404, `no such control route: ${call.method} ${call.path}`);
      return json(200, handle(call, decodeURIComponent(id ?? '')));
    } catch (error) {
      if (error instanceof ControlError) return json(error.status, { error: { message: error.message } });
      throw error;
    }
  };
}

/**
 * Control requests need no credentials, so a page that the developer has open must not be able to send any. Browsers name the
 * page in these headers; a page that has its own domain resolve to this machine shows in Host.
 */
function refuseWebPages({ headers }: Call): void {
  const { origin, host = '', 'sec-fetch-site': site = 'none' } = headers;
  if (origin !== undefined || site !== 'none') {
    throw new ControlError(403, 'Web pages cannot control the sandbox. Use a program such as curl.');
  }
  const name = host.replace(/:\d*$/, '');
  const isAddress = isIP(name.replace(/^\[(.*)\]$/, '$1')) !== 0;
  if (isAddress || !name.includes('.')) return;
  throw new ControlError(
    403,
    'Host: address the sandbox by its IP address or a name without a domain, such as localhost.',
  );
}

function addPayment(
  ledger: Ledger,
  {
    processor: name,
    environment: scope,
    account,
    connectedAccount,
    id,
    createdAt = ledger.now(),
    ...fields
  }: NewPayment,
) {
  const { payments } = ledger.processor(name);
  requirePossible(payments, { ...fields, connectedAccount });
  const given = id ?? payments.newId();
  const owner = { processor: name, environment: scope, account, connectedAccount };
  ledger.putPayment(owner, given, { ...fields, createdAt });
  return { id: given };
}

type NewPayment = z.infer<ReturnType<typeof schemasOf>['newPayment']>;

function changePayment(ledger: Ledger, id: string, call: Call) {
  const change = read(paymentChange, call);
  const payment = inAnyScope(ledger, (scope) => ledger.knownPayment(scope, id));
  if (payment === undefined) throw new ControlError(404, `no transaction ${id}; create it or read it first`);
  if (payment.status === 'voided') throw new ControlError(400, `${id} is a voided sale; a void is final`);
  const { title, payments } = ledger.processor(payment.processor);
  const { capturedAmount = payment.capturedAmount } = change;
  const { status, disputeStatus } = disputed(title, payments, payment, change);
  requireStatus(title, payments.statuses, status);
  if (change.capturedAmount !== undefined && payments.fields.capturedAmount === undefined) {
    throw new ControlError(400, `capturedAmount: ${title} payments are not captured in parts here`);
  }
  const changed = { ...payment, status, disputeStatus, capturedAmount };
  requirePossible(payments, changed);
  ledger.changePayment(payment, changed);
  return { id, status };
}

/** A dispute that is a chargeback makes its payment `disputed`, and one that is none any more ends that. */
function disputed(
  title: string,
  { disputes, statuses }: SandboxProcessor['payments'],
  payment: Payment,
  { status = payment.status, dispute }: z.infer<typeof paymentChange>,
): Pick<Payment, 'status' | 'disputeStatus'> {
  if (dispute === undefined) {
    const opens = status === 'disputed' && payment.status !== 'disputed';
    return { status, disputeStatus: opens ? Object.keys(disputes)[0] : payment.disputeStatus };
  }
  const state = disputes[dispute];
  if (state === undefined) {
    throw new ControlError(400, `dispute: ${title} knows ${Object.keys(disputes).join(', ')}`);
  }
  if (state.isChargeback) return { status: 'disputed', disputeStatus: dispute };
  return { status: status === 'disputed' ? statuses[0] : status, disputeStatus: dispute };
}

interface RefundFilter {
  processor?: string | undefined;
  environment: Environment;
  transactionId?: string | undefined;
  account?: string | undefined;
  connectedAccount?: string | undefined;
}

function listRefunds(ledger: Ledger, filter: RefundFilter) {
  const { transactionId } = filter;
  return ledger
    .scopes()
    .filter((scope) => isAskedFor(scope, filter))
    .flatMap((scope) => {
      if (transactionId === undefined) return ledger.refunds(scope);
      const payment = ledger.knownPayment(scope, transactionId);
      return payment === undefined ? [] : ledger.refundsOf(payment);
    })
    .filter(({ kind }) => kind !== 'decline')
    .map((refund) => ({
      id: refund.id,
      transactionId: ledger.knownPayment(refund, refund.paymentId)?.registeredAs,
      amount: refund.amount,
      currency: refund.currency,
      status: refund.status,
      // A Braintree order id may name the request as well, after a dot.
      key: refund.reference.split('.', 1)[0],
      createdAt: new Date(refund.createdAt).toISOString(),
      transferReversed: refund.transferReversed ?? 0,
      applicationFeeRefunded: refund.applicationFeeRefunded ?? 0,
      account: refund.account ?? null,
      connectedAccount: refund.connectedAccount ?? null,
    }));
}

function isAskedFor(
  { processor, environment: of, account, connectedAccount }: Scope,
  filter: RefundFilter,
): boolean {
  const { connectedAccount: connected } = filter;
  return (
    of === filter.environment &&
    (filter.processor === undefined || filter.processor === processor) &&
    (filter.account === undefined || filter.account === account) &&
    (connected === 'any' || connected === connectedAccount)
  );
}

function changeRefund(ledger: Ledger, id: string, call: Call) {
  const change = read(refundChange, call);
  const refund = inAnyScope(ledger, (scope) => ledger.refund(scope, id));
  if (refund === undefined) throw new ControlError(404, `no refund ${id}`);
  if (refund.kind === 'void') throw new ControlError(400, `${id} is a voided sale; a void is final`);
  const { title, refundStatuses } = ledger.processor(refund.processor);
  requireStatus(title, Object.keys(refundStatuses), change.status);
  ledger.moveRefund(refund, change);
  return { id, status: change.status };
}

function inAnyScope<T>(ledger: Ledger, find: (scope: Scope) => T | undefined): T | undefined {
  for (const scope of ledger.scopes()) {
    const found = find(scope);
    if (found !== undefined) return found;
  }
  return undefined;
}

function requirePossible({ problem }: SandboxProcessor['payments'], payment: PaymentTerms): void {
  const found = problem?.(payment) ?? null;
  if (found !== null) throw new ControlError(400, found);
}

function requireStatus(title: string, allowed: readonly string[], status: string): void {
  if (allowed.includes(status)) return;
  throw new ControlError(400, `status: ${title} knows ${allowed.join(', ')}, not ${status}`);
}

function givenIn(query: URLSearchParams): Record<string, string> {
  return Object.fromEntries([...query].filter(([, value]) => value !== ''));
}

function read<T>(schema: z.ZodType<T>, call: Call): T {
  let parsed: unknown;
  try {
    parsed = JSON.parse(call.body);
  } catch {
    throw new ControlError(400, 'the body is not JSON');
  }
  return check(schema, parsed);
}

function check<T>(schema: z.ZodType<T>, value: unknown): T {
  const checked = schema.safeParse(value);
  if (checked.success) return checked.data;
  throw new ControlError(400, z.prettifyError(checked.error));
}

function json(status: number, content: unknown): Answer {
  return { status, headers: { 'content-type': 'application/json' }, body: `${JSON.stringify(content)}\n` };
}
