import type { Processor } from '#shared/processors/contract/processor.ts';
import { replacing } from '../../support/replacing.ts';
import type { Combination } from './combinations.ts';
import type { Tampering } from './killable-dependencies.ts';

/** A mistake that the service could have, planted between its code and its dependencies. */
export interface PlantedBug {
  name: string;
  tampering: Tampering;
  /** The combinations in which it can show. */
  shows(combination: Combination): boolean;
  /** The violation that must be found. */
  symptom: RegExp;
}

export const plantedBugs: readonly PlantedBug[] = [
  {
    name: 'a claim that ignores leases and unknown outcomes',
    tampering: {
      sql: { claim_refunds: withoutLease, is_not_sent: replaced('w.unknown_since IS NULL AND ', '') },
    },
    shows: ({ flow, mishap }) => flow === 'refund' && mishap === 'two workers at once',
    symptom: /more than one movement|sends again|has the attempts/,
  },
  {
    name: 'an unknown outcome treated as a rejection',
    tampering: { processor: rejectingUnknown },
    shows: ({ flow, answer }) => flow === 'refund' && /after applying|applied|malformed/.test(answer),
    symptom: /failed and moved/,
  },
  {
    name: 'a reservation that is not released',
    tampering: { sql: { keep_reserved: replaced('p.reserved - OLD.amount', 'p.reserved') } },
    shows: ({ answer, isCancelled }) => answer === 'rejected' || isCancelled,
    symptom: /reserved of .* its live refunds are 0/,
  },
  {
    name: 'a lookup that never finds a refund',
    tampering: { processor: (processor) => replacing(processor, { findRefund: notFound }) },
    shows: ({ flow, processor, answer }) =>
      flow === 'refund' && processor === 'braintree' && /after applying/.test(answer),
    symptom: /more than one movement/,
  },
  {
    name: 'a lookup that counts as proof before the settle delay',
    tampering: { settings: { LOOKUP_SETTLE_DELAY_MS: 0 } },
    // Stripe's idempotency keys also prevent the second movement.
    shows: ({ flow, processor, answer }) =>
      flow === 'refund' && processor === 'braintree' && answer === 'timeout and applied late',
    symptom: /more than one movement/,
  },
  {
    name: 'an attempt that is not on record before its call',
    tampering: { sql: { lease_refunds: (text) => text.replaceAll("step = 'send'", 'false') } },
    shows: ({ flow, processor, answer, point }) =>
      flow === 'refund' &&
      processor === 'braintree' &&
      answer === 'ok' &&
      /(during|after) create/.test(point),
    symptom: /more than one movement|sends again/,
  },
  {
    name: 'an attempt that is repeated without a lookup',
    tampering: { sql: { is_not_sent: replaced('w.unknown_since IS NULL AND ', '') } },
    shows: ({ flow, processor, answer }) =>
      flow === 'refund' && processor === 'braintree' && /after applying/.test(answer),
    symptom: /more than one movement/,
  },
  {
    name: 'a status that changes without its event',
    tampering: {
      sql: {
        move_refunds: replaced(
          ') AS shown ON true',
          ") AS shown ON true WHERE entry.type <> 'refund.completed'",
        ),
      },
    },
    shows: ({ flow }) => flow === 'refund',
    symptom: /timeline/,
  },
];

function withoutLease(text: string): string {
  return text
    .replace('AND (locked.leased_until IS NULL OR locked.leased_until <= moment)', '')
    .replace(' SKIP LOCKED', '');
}

/** Changes the text of an SQL function. */
function replaced(part: string, by: string): (text: string) => string {
  return (text) => text.replace(part, by);
}

function rejectingUnknown(processor: Processor): Processor {
  const createRefund: Processor['createRefund'] = async (...args) => {
    const result = await processor.createRefund(...args);
    return result.kind === 'unknown' ? { kind: 'rejected', failure: result.failure } : result;
  };
  return replacing(processor, { createRefund });
}

const notFound: Processor['findRefund'] = async () => ({
  kind: 'not-found',
  failure: { code: 'not_found', message: 'Refund not found.' },
});
