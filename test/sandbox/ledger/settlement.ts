import { moveRefund, type Sandbox } from './state.ts';

const SWEEP_EVERY_MS = 50;

/**
 * Settles every refund that is due. Called before each request, so that no status is stale, and by a timer, so that
 * webhooks are sent without requests. Due times follow from the stored creation time and survive a restart.
 */
export function settleDueRefunds(sandbox: Sandbox): void {
  const { autoSettleMs } = sandbox.ledger.settings;
  if (autoSettleMs === null) return;
  const createdBefore = sandbox.now() - autoSettleMs;
  sandbox.ledger.transact(() => {
    for (const refund of sandbox.ledger.unsettledRefunds()) {
      // The refunds come oldest first and share one delay.
      if (refund.createdAt > createdBefore) break;
      const status = sandbox.ledger.settlesTo(refund);
      if (status !== null) moveRefund(sandbox, refund, { status }, null);
    }
  });
}

/** Returns the function that stops it. */
export function startSettlement(sandbox: Sandbox): () => void {
  const timer = setInterval(() => settleDueRefunds(sandbox), SWEEP_EVERY_MS);
  timer.unref();
  return () => clearInterval(timer);
}
