import type { Account, Answer, Call, Execution } from '../exchange.ts';
import type { Ledger } from '../ledger/ledger.ts';
import { errorAnswer, serverErrorAnswer } from './errors.ts';
import { canonicalForm } from './request.ts';

/** The outcome of the work itself, and whether work had begun (only then is the answer kept). */
export interface Worked {
  answer: Answer;
  began: boolean;
}

interface Keyed {
  ledger: Ledger;
  /** Keys whose answer has not left yet. */
  inUse: Set<string>;
  account: Account;
  call: Call;
  key: string;
  requestId: string;
  /** Keep and answer a 500 although the work was done. */
  crash: boolean;
}

/**
 * Stripe's first version of idempotency: the first answer given after work began, be it a success, a refusal or a 500, is
 * the answer for ever. What fails earlier (bad parameters, credentials, rate limits, a clash) leaves the key unused.
 */
export function once(keyed: Keyed, work: () => Worked): Execution {
  const { ledger, account, call, key } = keyed;
  if (key.length > 255)
    return refusal(400, 'invalid_request_error', 'Idempotency keys have at most 255 characters.');
  const fingerprint = `${call.method} ${call.path}?${canonicalForm(call.body)}`;
  const claim = `${account.id} ${key}`;
  if (keyed.inUse.has(claim)) {
    const message = 'Another request with this idempotency key is still running; try again later.';
    return refusal(409, 'idempotency_error', message, 'idempotency_key_in_use');
  }
  const kept = ledger.keyedAnswer(account.id, key);
  if (kept && kept.fingerprint !== fingerprint) {
    const message = `The idempotency key ${key} was first used with other parameters; keys belong to one request.`;
    return refusal(400, 'idempotency_error', message);
  }
  if (kept?.answer) return claimed(keyed.inUse, claim, replayOf(kept.answer));

  const { answer: worked, began } = work();
  const answer = keyed.crash && began ? serverErrorAnswer() : worked;
  if (began) {
    const kept = { status: answer.status, body: answer.body, requestId: keyed.requestId };
    ledger.putKeyedAnswer({ account: account.id, key, fingerprint, answer: kept, transactionId: null });
  }
  return claimed(keyed.inUse, claim, answer);
}

function claimed(inUse: Set<string>, claim: string, answer: Answer): Execution {
  inUse.add(claim);
  return { answer, finished: () => inUse.delete(claim) };
}

function replayOf(kept: { status: number; body: string; requestId: string }): Answer {
  const headers = {
    'content-type': 'application/json',
    'idempotent-replayed': 'true',
    'original-request': kept.requestId,
  };
  return { status: kept.status, headers, body: kept.body };
}

function refusal(
  status: number,
  type: 'invalid_request_error' | 'idempotency_error',
  message: string,
  code?: string,
): Execution {
  const error = code === undefined ? { type, message } : { type, message, code };
  return { answer: errorAnswer(status, error), finished: () => undefined };
}
