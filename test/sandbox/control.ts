import { isIP } from 'node:net';
import { z } from 'zod';
import {
  newFault,
  newTransaction,
  refundChange,
  refundFilter,
  settingsChange,
  transactionChange,
} from './control-schemas.ts';
import type { Answer, Call } from './exchange.ts';
import type { FaultKind } from './faults.ts';
import { stripeCanExpress } from './ledger/currency.ts';
import {
  type Environment,
  type Payment,
  PROCESSORS,
  type Processor,
  type Refund,
  type Scope,
} from './ledger/ledger.ts';
import { isNamed, knownPayment, newPaymentId, scopeOf, storedIds } from './ledger/payments.ts';
import { moveRefund, type Sandbox } from './ledger/state.ts';
import { PAYMENT_STATUSES, REFUND_STATUSES } from './ledger/statuses.ts';

const ENVIRONMENTS: readonly Environment[] = ['test', 'live'];
const DEFAULT_HOLD_MS = 60_000;
const DEFAULT_LATE_MS = 1_000;

type Handler = (sandbox: Sandbox, call: Call, id: string) => unknown;

const ROUTES: readonly [method: string, path: RegExp, handle: Handler][] = [
  ['GET', /^\/_sandbox\/health$/, () => ({ ok: true, pid: process.pid })],
  ['POST', /^\/_sandbox\/transactions$/, createTransaction],
  ['POST', /^\/_sandbox\/transactions\/([^/]+)$/, changeTransaction],
  ['GET', /^\/_sandbox\/refunds$/, listRefunds],
  ['POST', /^\/_sandbox\/refunds\/([^/]+)$/, changeRefund],
  ['GET', /^\/_sandbox\/faults$/, ({ faults }) => ({ armed: faults.armed, strikes: faults.strikes() })],
  ['POST', /^\/_sandbox\/faults$/, addFault],
  ['DELETE', /^\/_sandbox\/faults$/, clearFaults],
  ['POST', /^\/_sandbox\/settings$/, changeSettings],
];

class ControlError extends Error {
  readonly status: number;

  constructor(status: number, message: string) {
    super(message);
    this.status = status;
  }
}

export function control(sandbox: Sandbox, call: Call): Answer {
  try {
    refuseWebPages(call);
    for (const [method, path, handle] of ROUTES) {
      const match = method === call.method ? path.exec(call.path) : null;
      if (!match) continue;
      const id = decodeURIComponent(match[1] ?? '');
      return json(
        200,
        sandbox.ledger.transact(() => handle(sandbox, call, id)),
      );
    }
    throw new ControlError(404, `no such control route: ${call.method} ${call.path}`);
  } catch (error) {
    if (error instanceof ControlError) return json(error.status, { error: { message: error.message } });
    throw error;
  }
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

function createTransaction(sandbox: Sandbox, call: Call): { id: string } {
  const asked = body(newTransaction, call);
  if (asked.processor === 'stripe') requireExpressible(asked);
  const scope = scopeOf(asked.processor, asked.environment);
  const name = asked.id ?? newPaymentId(asked.processor);
  const known = knownPayment(sandbox, scope, name);
  sandbox.ledger.putPayment({
    ...scope,
    id: known?.id ?? storedIds(scope, name)[0] ?? name,
    registeredAs: known?.registeredAs ?? name,
    amount: asked.amount,
    capturedAmount: asked.processor === 'stripe' ? asked.capturedAmount : undefined,
    currency: asked.currency,
    createdAt: asked.createdAt ?? sandbox.now(),
    status: asked.status,
    paymentMethod: asked.paymentMethod,
  });
  return { id: name };
}

function changeTransaction(sandbox: Sandbox, call: Call, id: string) {
  const asked = body(transactionChange, call);
  const payment = inAnyScope((scope) => knownPayment(sandbox, scope, id), asked.processor, asked.environment);
  if (payment === undefined) throw new ControlError(404, `no transaction ${id}; create it or read it first`);
  if (payment.status === 'voided') throw new ControlError(400, `${id} is a voided sale; a void is final`);
  const status = asked.status ?? payment.status;
  requireStatus(PAYMENT_STATUSES[payment.processor], status, payment.processor);
  if (asked.capturedAmount !== undefined && payment.processor !== 'stripe') {
    throw new ControlError(400, 'capturedAmount: only Stripe payments are captured in parts here');
  }
  const changed = { ...payment, status, capturedAmount: asked.capturedAmount ?? payment.capturedAmount };
  if (changed.processor === 'stripe') requireExpressible(changed);
  sandbox.ledger.putPayment(changed);
  return { id, status };
}

function listRefunds(sandbox: Sandbox, call: Call) {
  const given = [...call.query].filter(([, value]) => value !== '');
  const filter = check(refundFilter, Object.fromEntries(given));
  const rows = PROCESSORS.filter(
    (processor) => filter.processor === undefined || filter.processor === processor,
  )
    .map((processor) => scopeOf(processor, filter.environment))
    .flatMap((scope) => refundsOf(sandbox, scope, filter.transactionId));
  return rows.map(([refund, payment]) => refundRow(refund, payment));
}

function refundsOf(sandbox: Sandbox, scope: Scope, transactionId: string | undefined): [Refund, Payment][] {
  const named = transactionId === undefined ? undefined : knownPayment(sandbox, scope, transactionId);
  if (transactionId !== undefined && (named === undefined || !isNamed(named, transactionId))) return [];
  const refunds = named === undefined ? sandbox.ledger.refunds(scope) : sandbox.ledger.refundsOf(named);
  return refunds.flatMap((refund) => {
    const payment = sandbox.ledger.payment(scope, refund.paymentId);
    return payment === undefined ? [] : [[refund, payment] satisfies [Refund, Payment]];
  });
}

function refundRow(refund: Refund, payment: Payment) {
  return {
    id: refund.id,
    transactionId: payment.registeredAs,
    amount: refund.amount,
    currency: refund.currency,
    status: refund.status,
    key: refund.reference,
    createdAt: new Date(refund.createdAt).toISOString(),
  };
}

function changeRefund(sandbox: Sandbox, call: Call, id: string) {
  const asked = body(refundChange, call);
  const refund = inAnyScope((scope) => sandbox.ledger.refund(scope, id));
  if (refund === undefined) throw new ControlError(404, `no refund ${id}`);
  if (refund.kind === 'void') throw new ControlError(400, `${id} is a voided sale; a void is final`);
  requireStatus(REFUND_STATUSES[refund.processor], asked.status, refund.processor);
  const failureReason = asked.failureReason ?? (asked.status === 'failed' ? 'unknown' : null);
  const moved = moveRefund(sandbox, refund, { status: asked.status, failureReason, driven: true }, null);
  return { id, status: moved.status };
}

function addFault(sandbox: Sandbox, call: Call) {
  const asked = body(newFault, call);
  const fault = { ...asked, delayMs: asked.delayMs ?? defaultDelayMs(asked.kind) };
  sandbox.faults.add(fault);
  return { ...fault };
}

function defaultDelayMs(kind: FaultKind): number {
  if (kind.startsWith('timeout')) return DEFAULT_HOLD_MS;
  return kind === 'reset-late-apply' ? DEFAULT_LATE_MS : 0;
}

function clearFaults(sandbox: Sandbox) {
  sandbox.faults.clear();
  return { ok: true };
}

function changeSettings(sandbox: Sandbox, call: Call) {
  const asked = body(settingsChange, call);
  const given = Object.fromEntries(Object.entries(asked).filter(([, value]) => value !== undefined));
  sandbox.ledger.changeSettings({ ...sandbox.ledger.settings, ...given });
  return sandbox.ledger.settings;
}

function inAnyScope<T>(
  find: (scope: Scope) => T | undefined,
  processor?: Processor,
  environment?: Environment,
): T | undefined {
  for (const eachProcessor of processor ? [processor] : PROCESSORS) {
    for (const eachEnvironment of environment ? [environment] : ENVIRONMENTS) {
      const found = find(scopeOf(eachProcessor, eachEnvironment));
      if (found !== undefined) return found;
    }
  }
  return undefined;
}

function requireExpressible({
  amount,
  capturedAmount = amount,
  currency,
}: Pick<Payment, 'amount' | 'capturedAmount' | 'currency'>): void {
  for (const [field, minor] of Object.entries({ amount, capturedAmount })) {
    if (stripeCanExpress(minor, currency)) continue;
    throw new ControlError(400, `${field}: Stripe cannot express ${minor} minor units of ${currency}`);
  }
}

function requireStatus(allowed: readonly string[], status: string, processor: Processor): void {
  if (allowed.includes(status)) return;
  throw new ControlError(400, `status: ${processor} knows ${allowed.join(', ')}, not ${status}`);
}

function body<T>(schema: z.ZodType<T>, call: Call): T {
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
