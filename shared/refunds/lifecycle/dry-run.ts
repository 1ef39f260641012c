import type { Stores } from '../../platform/database.ts';
import { type ErrorCode, ServiceError } from '../../platform/errors.ts';
import { redact } from '../../platform/log.ts';
import type { InitialStatus } from '../model/states.ts';
import { findByKey } from './create.ts';
import { type Decision, decideRefund, type RefundRequest } from './decide.ts';
import type { ExaminationDependencies } from './examine.ts';

/** What a creation would come to. */
interface DryRun {
  wouldCreate: boolean;
  /** The status in which the refund would start; null when none would be created. */
  status: InitialStatus | null;
  /** Why no refund would be created; null when one would be, or already was with the same idempotency key. */
  error: { code: ErrorCode; message: string } | null;
  /** The policy that decided, and how; null when none matches or the payment is not known. */
  policy: { name: string; eligible: boolean; trace: string[] } | null;
  /** The most that can be refunded now, in minor units; 0 when nothing is left. */
  maxAmount: number;
}

type DryRunDependencies = ExaminationDependencies & Stores;

/**
 * Decides about a refund as a creation would at this moment: reserves, sends, stores and binds nothing.
 * @throws ServiceError only for a request that could not be decided about: service_unavailable and internal_error.
 */
export async function dryRunRefund(deps: DryRunDependencies, request: RefundRequest): Promise<DryRun> {
  const decided = await decide(deps, request);
  return { ...decided, ...(await decidedByKey(deps, request)) };
}

async function decide(deps: ExaminationDependencies, request: RefundRequest): Promise<DryRun> {
  try {
    return asDryRun(await decideRefund(deps, request, 'dry run'));
  } catch (error) {
    return { ...notCreated(error), policy: null, maxAmount: 0 };
  }
}

function asDryRun({ refusal, status, verdict, trace, maxAmount }: Decision): DryRun {
  const name = verdict?.policyName ?? null;
  const outcome = refusal === null ? { wouldCreate: true, status, error: null } : notCreated(refusal);
  return {
    ...outcome,
    policy:
      verdict === null || name === null
        ? null
        : { name, eligible: verdict.deniedBy === null, trace: [...trace] },
    maxAmount: Number(maxAmount),
  };
}

type Outcome = Pick<DryRun, 'wouldCreate' | 'status' | 'error'>;

/** What an idempotency key that is bound already changes. */
async function decidedByKey(deps: Stores, request: RefundRequest): Promise<Partial<Outcome>> {
  try {
    const known = await findByKey(deps, request);
    return known === null ? {} : { wouldCreate: false, status: null, error: null };
  } catch (error) {
    return notCreated(error);
  }
}

/** @throws the error again unless it refuses the refund. */
function notCreated(error: unknown): Outcome {
  if (!(error instanceof ServiceError) || error.status === 503) throw error;
  const { code, message } = error;
  return { wouldCreate: false, status: null, error: { code, message: redact(message) } };
}
