import type { Ledger } from '../ledger/ledger.ts';
import { BraintreeRefusal, invalid } from './errors.ts';
import type { BraintreeRequest, TransactionParameters } from './request.ts';

export interface KeyClaim {
  transactionId: string;
  /** Lets go of the key once the answer is out. */
  finished: () => void;
}

/**
 * Runs `work` at most once per API request key. The same request again gets the transaction of the first one as it is now.
 * Another request with the key is refused, and so is any request after a failed one.
 */
export function oncePerKey(
  ledger: Ledger,
  inFlight: Set<string>,
  request: BraintreeRequest,
  action: 'refund' | 'void',
  parameters: TransactionParameters,
  work: () => { id: string },
): KeyClaim {
  const { api_request_key: key, ...input } = parameters;
  if (key === undefined) return { transactionId: work().id, finished: () => undefined };
  const account = request.account.id;
  const claim = `${account} ${key}`;
  const fingerprint = JSON.stringify([action, request.id, input.amount ?? null, input.order_id ?? null]);
  const kept = ledger.keyedAnswer(account, key);
  if (inFlight.has(claim)) throw invalid(request.id, '915233');
  if (kept && kept.fingerprint !== fingerprint) throw invalid(request.id, '915232');
  if (kept?.transactionId === null) throw invalid(request.id, '915234');

  const keep = (transactionId: string | null) =>
    ledger.putKeyedAnswer({ account, key, fingerprint, answer: null, transactionId });
  const transactionId = kept ? kept.transactionId : worked(work, keep);
  inFlight.add(claim);
  return { transactionId, finished: () => inFlight.delete(claim) };
}

function worked(work: () => { id: string }, keep: (transactionId: string | null) => void): string {
  try {
    const { id } = work();
    keep(id);
    return id;
  } catch (error) {
    if (error instanceof BraintreeRefusal && error.spendsKey) keep(null);
    throw error;
  }
}
