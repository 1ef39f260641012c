import type { IncomingHttpHeaders } from 'node:http';
import type { HeldRequest } from './approvals.ts';
import type { Course, Failure, Operation } from './faults.ts';
import type { Environment, Ledger, Scope } from './ledger.ts';
import type { SandboxProcessor } from './processor.ts';

export interface Call {
  method: string;
  path: string;
  query: URLSearchParams;
  headers: IncomingHttpHeaders;
  body: string;
}

export interface Answer {
  status: number;
  headers: Record<string, string>;
  body: string;
}

/** The account of the credentials. `id` identifies it without revealing a secret. */
export interface Account {
  environment: Environment;
  id: string;
  /** Its name; left out for the account that has none. */
  account?: string | undefined;
  /** The account on whose behalf it acts; left out for itself. */
  connectedAccount?: string | undefined;
}

/** One processor's protocol. */
export interface Protocol {
  /** The caller's account, or the answer that refuses the credentials. */
  admit(call: Call, ledger: Ledger): Account | Answer;
  /** Changes nothing yet. */
  read(ledger: Ledger, call: Call, account: Account): Request;
  failure(failure: Failure): Answer;
  /** 200 with a body that is not the resource. */
  malformed(): Answer;
}

/** What a call asks for. */
export interface Request {
  /** Null for requests that only faults of operation `*` apply to. */
  operation: Operation | null;
  /** What the processor counts requests by, such as `POST /v1/refunds`. */
  endpoint: string;
  /** An id of the payment that it names, or whose refund it names. */
  paymentId: string;
  key: IdempotencyKey | null;
  /** @param crash true if the answer is lost to an error of the processor after the work. */
  perform(crash: boolean): Performed;
}

export interface Performed {
  answer: Answer;
  /** What a repetition with the same key is answered from; undefined leaves the key unused. */
  kept?: string | undefined;
}

export interface IdempotencyKey {
  name: string;
  /** The same for every repetition of the request. */
  fingerprint: string;
  refuse(problem: 'in use' | 'of another request'): Answer;
  /** What `repeat` makes an answer from again; undefined for a processor that keeps only results. */
  keep(answer: Answer): string | undefined;
  repeat(kept: string): Answer;
}

/** Thrown to refuse a request. */
export class Refusal extends Error {
  readonly answer: Answer;
  /** False when work had not begun, so that the idempotency key stays unused. */
  readonly isJudged: boolean;

  constructor(answer: Answer, isJudged: boolean) {
    super(`The processor answers ${answer.status}.`);
    this.answer = answer;
    this.isJudged = isJudged;
  }
}

/** The caller's end of a call. */
export interface Connection {
  send(answer: Answer): void;
  close(): void;
  reset(): void;
  after(ms: number, action: () => void): void;
}

const USUAL: Required<Course> = { work: 'at once', reply: 'answer', delayMs: 0 };

/** Handles one call: credentials, then faults, then the processor's own logic. */
export function exchange(
  ledger: Ledger,
  { name: processor, protocol }: SandboxProcessor,
  call: Call,
  connection: Connection,
): void {
  const { latencyMs, rateLimits } = ledger.settings;
  const account = protocol.admit(call, ledger);
  if ('status' in account) {
    connection.after(latencyMs, () => connection.send(account));
    return;
  }
  const request = protocol.read(ledger, call, account);
  const limit = ledger.rates.limit(account.id, request.endpoint, rateLimits);
  if (limit !== null) {
    connection.after(latencyMs, () => connection.send(protocol.failure({ status: 429, limitedBy: limit })));
    return;
  }
  const scope = { ...scopeOf(account), processor };
  noteMisdirected(ledger, scope, call, request);
  const transactionIds = ledger.idsOfPayment(scope, request.paymentId);
  const target = { processor, operation: request.operation, transactionIds };
  const { work, reply, delayMs } = ledger.faults.strike(target) ?? USUAL;
  const asked =
    work === 'once approved' && typeof reply === 'object'
      ? heldForReview(ledger, target, request, protocol.failure(reply))
      : request;
  const perform = () => performOnce(ledger, account, asked, typeof reply === 'object');
  const done = work === 'at once' || work === 'once approved' ? perform() : null;
  const workLate = () => {
    if (work === 'late') perform().finish();
  };
  if (reply === 'reset' || reply === 'none') {
    done?.finish();
    if (reply === 'reset') connection.reset();
    connection.after(delayMs, () => {
      workLate();
      connection.close();
    });
    return;
  }
  const answer = shown(protocol, reply, done);
  connection.after(latencyMs + (reply === 'answer' ? delayMs : 0), () => {
    ledger.flush();
    done?.finish();
    connection.send(answer);
  });
}

/** What belongs to an account. */
export function scopeOf({ environment, account, connectedAccount }: Account): Omit<Scope, 'processor'> {
  return { environment, account, connectedAccount };
}

/** Which account has a payment is found by asking each of them; what is about its refunds is asked of that one. */
function noteMisdirected(ledger: Ledger, scope: Scope, { method, path }: Call, request: Request): void {
  const { operation, paymentId } = request;
  if (operation === null || operation === 'transaction.get' || !ledger.isElsewhere(scope, paymentId)) return;
  ledger.misdirected.push({ ...scope, call: `${method} ${path} ${paymentId}` });
}

/** The request of which the work is to be held for a reviewer. The answer that says so is the one that its key stands for. */
function heldForReview(
  ledger: Ledger,
  target: Omit<HeldRequest, 'id'>,
  request: Request,
  answer: Answer,
): Request {
  const { key } = request;
  return {
    ...request,
    perform() {
      ledger.approvals.hold(target, () => request.perform(false));
      return { answer, kept: key?.keep(answer) };
    },
  };
}

function shown(protocol: Protocol, reply: Course['reply'], done: Execution | null): Answer {
  if (typeof reply === 'object') return protocol.failure(reply);
  return reply === 'answer' && done !== null ? done.answer : protocol.malformed();
}

interface Execution {
  answer: Answer;
  /** To be called once the answer is sent or lost. Until then its idempotency key is in use. */
  finish: () => void;
}

/** Performs the request, unless one with its idempotency key came before. */
function performOnce(ledger: Ledger, account: Account, request: Request, crash: boolean): Execution {
  const { key } = request;
  if (key === null) return { answer: request.perform(crash).answer, finish: () => undefined };
  const claim = `${account.id} ${key.name}`;
  if (ledger.keysInUse.has(claim)) return { answer: key.refuse('in use'), finish: () => undefined };
  ledger.keysInUse.add(claim);
  const finish = () => ledger.keysInUse.delete(claim);
  const earlier = ledger.keptAnswer(claim);
  if (earlier !== undefined) {
    const isSame = earlier.fingerprint === key.fingerprint;
    return { answer: isSame ? key.repeat(earlier.kept) : key.refuse('of another request'), finish };
  }
  const { answer, kept } = request.perform(crash);
  if (kept !== undefined) ledger.keepAnswer({ claim, fingerprint: key.fingerprint, kept });
  return { answer, finish };
}
