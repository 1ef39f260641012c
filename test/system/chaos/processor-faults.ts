import type { SandboxControl } from '../../sandbox/clients.ts';
import type { FaultKind, Operation } from '../../sandbox/faults.ts';
import type { Random } from '../../support/random.ts';
import { passingFaults, type Storm } from './fault-plan.ts';
import { latestApplyMs } from './settings.ts';

/** How many of an operation's requests meet a fault, all kinds together. */
const shares: Readonly<Record<Operation, number>> = {
  'transaction.get': 0.06,
  'refund.create': 0.25,
  'refund.get': 0.06,
  'refund.find': 0.12,
  'refund.list': 0.12,
  'refund.cancel': 0.15,
};

/**
 * How many submissions are cut off and applied later. They are what tempts a lookup into a false "not found", so there
 * are more of them than of anything else.
 */
const lateShare = 0.15;

/** Beyond the service's deadline for a call, so that it is the service that gives up. */
const holdMs = 3_000;

/** Arms every kind of fault on every operation of both processors, each with a probability of its own. */
export async function armProcessorFaults(control: SandboxControl, random: Random): Promise<void> {
  for (const processor of ['stripe', 'braintree']) {
    const late = { processor, operation: 'refund.create', kind: 'reset-late-apply', times: null };
    await control.fault({ ...late, probability: lateShare, delayMs: latestApplyMs });
    for (const [operation, share] of Object.entries(shares)) {
      for (const kind of passingFaults) {
        const probability = (share / passingFaults.length) * (0.5 + random.next());
        const delayMs = delayOf(kind, random);
        await control.fault({ processor, operation, kind, times: null, probability, delayMs });
      }
    }
  }
}

export async function raiseStorm(control: SandboxControl, storm: Storm): Promise<void> {
  await control.fault({ ...storm, delayMs: storm.kind === 'reset-late-apply' ? latestApplyMs : holdMs });
}

function delayOf(kind: FaultKind, random: Random): number {
  switch (kind) {
    case 'reset-late-apply':
      return random.between(500, latestApplyMs);
    case 'delay':
      return random.between(200, holdMs);
    default:
      return holdMs;
  }
}
