import { isIP } from 'node:net';
import { z } from 'zod';
import { type ControlSchemas, controlSchemas } from './control-schemas.ts';
import type { Answer, Call } from './exchange.ts';
import type { FaultKind } from './faults.ts';
import type { Environment, Payment, Refund, Scope } from './ledger/ledger.ts';
import { knownPayment, scopeOf, storedIds } from './ledger/payments.ts';
import { moveRefund, type Sandbox } from './ledger/state.ts';
import type { SandboxProcessor } from './processor.ts';

const ENVIRONMENTS: readonly Environment[] = ['test', 'live'];
const DEFAULT_HOLD_MS = 60_000;
const DEFAULT_LATE_MS = 1_000;

interface Control extends Sandbox {
  schemas: ControlSchemas;
}

type Handler = (sandbox: Control, call: Call, id: string) => unknown;

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

/** The control API of a sandbox. */
export function openControl(sandbox: Sandbox): (call: Call) => Answer {
  const context = { ...sandbox, schemas: controlSchemas(sandbox.processors) };
  return (call) => answer(context, call);
}

function answer(sandbox: Control, call: Call): Answer {
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

function createTransaction(sandbox: Control, call: Call): { id: string } {
  const asked = body(sandbox.schemas.newTransaction, call);
  const processor = sandbox.processor(asked.processor);
  requirePossible(processor, asked);
  const scope = scopeOf(asked.processor, asked.environment);
  const name = asked.id ?? processor.payments.newId();
  const known = knownPayment(sandbox, scope, name);
  sandbox.ledger.putPayment({
    ...scope,
    id: known?.id ?? storedIds(processor, name)[0] ?? name,
    registeredAs: known?.registeredAs ?? name,
    amount: asked.amount,
    capturedAmount: asked.capturedAmount,
    currency: asked.currency,
    createdAt: asked.createdAt ?? sandbox.now(),
    status: asked.status,
    paymentMethod: asked.paymentMethod,
  });
  return { id: name };
}

function changeTransaction(sandbox: Control, call: Call, id: string) {
  const asked = body(sandbox.schemas.transactionChange, call);
  const payment = inAnyScope(
    sandbox,
    (scope) => knownPayment(sandbox, scope, id),
    asked.processor,
    asked.environment,
  );
  if (payment === undefined) throw new ControlError(404, `no transaction ${id}; create it or read it first`);
  if (payment.status === 'voided') throw new ControlError(400, `${id} is a voided sale; a void is final`);
  const status = asked.status ?? payment.status;
  const processor = sandbox.processor(payment.processor);
  requireStatus(processor.payments.statuses, status, payment.processor);
  if (asked.capturedAmount !== undefined && processor.payments.fields.capturedAmount === undefined) {
    throw new ControlError(400, `capturedAmount: ${processor.title} payments are not captured in parts here`);
  }
  const changed = { ...payment, status, capturedAmount: asked.capturedAmount ?? payment.capturedAmount };
  requirePossible(processor, changed);
  sandbox.ledger.putPayment(changed);
  return { id, status };
}

function listRefunds(sandbox: Control, call: Call) {
  const given = [...call.query].filter(([, value]) => value !== '');
  const filter = check(sandbox.schemas.refundFilter, Object.fromEntries(given));
  const rows = sandbox.processors
    .filter(({ name }) => filter.processor === undefined || filter.processor === name)
    .map(({ name }) => scopeOf(name, filter.environment))
    .flatMap((scope) => refundsOf(sandbox, scope, filter.transactionId));
  return rows.map(([refund, payment]) => refundRow(refund, payment));
}

function refundsOf(sandbox: Sandbox, scope: Scope, transactionId: string | undefined): [Refund, Payment][] {
  const named = transactionId === undefined ? undefined : knownPayment(sandbox, scope, transactionId);
  if (transactionId !== undefined && named === undefined) return [];
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
    // A Braintree order id may name the request as well, after a dot.
    key: refund.reference.split('.', 1)[0],
    createdAt: new Date(refund.createdAt).toISOString(),
  };
}

function changeRefund(sandbox: Control, call: Call, id: string) {
  const asked = body(sandbox.schemas.refundChange, call);
  const refund = inAnyScope(sandbox, (scope) => sandbox.ledger.refund(scope, id));
  if (refund === undefined) throw new ControlError(404, `no refund ${id}`);
  if (refund.kind === 'void') throw new ControlError(400, `${id} is a voided sale; a void is final`);
  requireStatus(
    Object.keys(sandbox.processor(refund.processor).refundStatuses),
    asked.status,
    refund.processor,
  );
  const failureReason = asked.failureReason ?? (asked.status === 'failed' ? 'unknown' : null);
  const moved = moveRefund(sandbox, refund, { status: asked.status, failureReason, driven: true }, null);
  return { id, status: moved.status };
}

function addFault(sandbox: Control, call: Call) {
  const asked = body(sandbox.schemas.newFault, call);
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

function changeSettings(sandbox: Control, call: Call) {
  const asked = body(sandbox.schemas.settingsChange, call);
  const given = Object.fromEntries(Object.entries(asked).filter(([, value]) => value !== undefined));
  sandbox.ledger.changeSettings({ ...sandbox.ledger.settings, ...given });
  return sandbox.ledger.settings;
}

function inAnyScope<T>(
  { processors }: Sandbox,
  find: (scope: Scope) => T | undefined,
  processor?: string,
  environment?: Environment,
): T | undefined {
  for (const eachProcessor of processor ? [processor] : processors.map(({ name }) => name)) {
    for (const eachEnvironment of environment ? [environment] : ENVIRONMENTS) {
      const found = find(scopeOf(eachProcessor, eachEnvironment));
      if (found !== undefined) return found;
    }
  }
  return undefined;
}

function requirePossible(
  { payments }: SandboxProcessor,
  payment: Parameters<Required<SandboxProcessor['payments']>['problem']>[0],
): void {
  const problem = payments.problem?.(payment) ?? null;
  if (problem !== null) throw new ControlError(400, problem);
}

function requireStatus(allowed: readonly string[], status: string, processor: string): void {
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
