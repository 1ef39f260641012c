import { Prisma } from '../../shared/db.ts';
import type { Processor } from '../../shared/processors/processor.ts';
import type { Combination } from './combinations.ts';
import type { Tampering } from './killable-dependencies.ts';
import { replacing } from './replacing.ts';

/** A mistake that the service could have, put between its code and what it works with. */
export interface PlantedBug {
  name: string;
  tampering: Tampering;
  /** Where it can show. */
  shows(combination: Combination): boolean;
  /** What has to be noticed. */
  symptom: RegExp;
}

export const plantedBugs: readonly PlantedBug[] = [
  {
    name: 'a claim that is not guarded: neither lease, nor fencing token, nor what is unknown keep a worker off',
    tampering: { statement: (sql) => withoutGuards(sql) },
    shows: ({ flow, mishap }) => flow === 'refund' && mishap === 'two workers at once',
    symptom: /more than one movement|sends again/,
  },
  {
    name: 'an unknown outcome that is taken for a rejection',
    tampering: { processor: rejectingUnknown },
    shows: ({ flow, answer }) => flow === 'refund' && /after applying|applied|malformed/.test(answer),
    symptom: /failed and moved/,
  },
  {
    name: 'a reservation that is not given back',
    tampering: { statement: (sql) => (/reserved = reserved - /.test(sql.text) ? null : sql) },
    shows: ({ answer, isCancelled }) => answer === 'rejected' || isCancelled,
    symptom: /reserved of .* its live refunds are 0/,
  },
  {
    name: 'a lookup that finds nothing, whatever there is',
    tampering: { processor: (processor) => replacing(processor, { findRefund: notFound }) },
    shows: ({ flow, processor, answer }) =>
      flow === 'refund' && processor === 'braintree' && /after applying/.test(answer),
    symptom: /more than one movement/,
  },
  {
    name: 'a lookup that is believed before the processor can know',
    tampering: { settings: { LOOKUP_SETTLE_DELAY_MS: 0 } },
    // Stripe's idempotency keys stand behind the rule, so that it shows at Braintree alone.
    shows: ({ flow, processor, answer }) =>
      flow === 'refund' && processor === 'braintree' && answer === 'timeout and applied late',
    symptom: /more than one movement/,
  },
];

const claimGuards: readonly [guard: string, without: string][] = [
  ['AND fencing_token = ', 'AND 0 <= '],
  ['(claimed_until IS NULL OR claimed_until <= clock_timestamp())', 'true'],
  ['AND cancel_requested_at IS NULL', ''],
  ['external_refund_id IS NULL AND unknown_since IS NULL AND review_due_at IS NULL', 'true'],
];

/** The same claim with its conditions taken out. */
function withoutGuards(sql: Prisma.Sql): Prisma.Sql {
  if (!sql.text.includes('fencing_token + 1')) return sql;
  const strings = sql.strings.map((part) =>
    claimGuards.reduce((text, [from, to]) => text.replace(from, to), part),
  );
  return Prisma.sql(strings, ...sql.values);
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
  failure: { code: 'not_found', message: 'There is no such refund.' },
});
