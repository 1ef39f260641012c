import { type Command, Option } from 'commander';
import { type ResolvedStatus, resolvedStatuses } from '../../../shared/refunds/decisions/evidence.ts';
import {
  dismissFlag,
  type ResolutionOutcome,
  recheckRefund,
  resolveRefund,
} from '../../../shared/refunds/decisions/resolve.ts';
import { examples } from '../console/options.ts';
import { explain } from '../console/output.ts';
import { CommandError, withDependencies } from '../console/session.ts';
import { loadRefund } from '../reports/refund-report.ts';

const resolveHelp = `
--as reads the refund from the processor first, and changes nothing while the processor contradicts it or cannot be read.
--force resolves it anyway, at your own risk: as completed, the customer may never get the money; as failed or cancelled, the
amount can be refunded again and the customer may be paid twice. A completed refund can't be forced.

--dismiss is for a refund that has ended, and for a flag about another refund under its name: nothing moves, and the same
discrepancy is not flagged again.
`;

interface ResolveOptions {
  as?: ResolvedStatus;
  dismiss?: true;
  reason: string;
  processorRefund?: string;
  force?: true;
}

/** `refund resolve` and `refund recheck`. */
export function addResolutionCommands(refund: Command): void {
  refund
    .command('resolve')
    .description('resolve a flagged refund, or dismiss its flag')
    .argument('<refundId>')
    .addOption(new Option('--as <status>', 'its final status').choices(resolvedStatuses).conflicts('dismiss'))
    .addOption(
      new Option('--dismiss', 'keep its status and dismiss the flag').conflicts(['processorRefund', 'force']),
    )
    .requiredOption('--reason <text>', 'for its timeline and the audit log')
    .option('--processor-refund <id>', "the processor's id of the refund that completed")
    .option('--force', 'also if the processor contradicts it or cannot be read')
    .addHelpText('after', resolveHelp)
    .addHelpText(
      'after',
      examples(
        "refund resolve ref_... --as completed --processor-refund re_... --reason 'Seen in the dashboard'",
        "refund resolve ref_... --as failed --reason 'The processor confirms that it never had it'",
        "refund resolve ref_... --dismiss --reason 'The customer keeps the money'",
      ),
    )
    .action(resolve);
  refund
    .command('recheck')
    .description('read a refund again from its processor')
    .argument('<refundId>')
    .addHelpText('after', examples('refund recheck ref_...'))
    .action(recheck);
}

async function resolve(refundId: string, options: ResolveOptions, command: Command): Promise<void> {
  const { as: status, dismiss, reason, processorRefund = null, force = false } = options;
  if (status === undefined && dismiss === undefined) {
    command.error('error: give --as <status> or --dismiss');
  }
  await withDependencies(async (deps, actor) => {
    const refund = await loadRefund(deps.db, refundId);
    if (status === undefined) {
      report(await dismissFlag(deps, refund, actor, reason), 'dismissed');
      explain(`Dismissed the flag of ${refundId}, which stays ${refund.status}.`);
      return;
    }
    const resolution = { status, reason, externalRefundId: processorRefund, force };
    report(await resolveRefund(deps, refund, actor, resolution), status);
    explain(`${refundId} is ${status}.`);
  });
}

async function recheck(refundId: string): Promise<void> {
  await withDependencies(async (deps, actor) => {
    if (await recheckRefund(deps, await loadRefund(deps.db, refundId), actor)) {
      explain(`Recheck of ${refundId} requested. See: refund show ${refundId}`);
      return;
    }
    throw new CommandError(`${refundId} awaits approval and has never been sent to its processor.`);
  });
}

/** @throws CommandError unless the decision was carried out. */
function report(outcome: ResolutionOutcome, wanted: ResolvedStatus | 'dismissed'): void {
  if (outcome.kind !== 'done') throw new CommandError(`${whyNot(outcome, wanted)} Nothing was changed.`);
}

function whyNot(
  outcome: Exclude<ResolutionOutcome, { kind: 'done' }>,
  wanted: ResolvedStatus | 'dismissed',
): string {
  const { id, status } = outcome.refund;
  switch (outcome.kind) {
    case 'not-flagged':
      return `${id} is ${status} and not flagged.`;
    case 'not-allowed':
      return `${id} is ${status} and cannot be ${wanted}.`;
    case 'changed':
      return `${id} has changed. Review it and try again.`;
    case 'leased':
      return `A worker is working on ${id}. Try again after ${outcome.until.toISOString()}.`;
    case 'contradicted':
      return `${outcome.evidence} ${outcome.forceable ? forcing(wanted) : 'A completed refund fails only if the processor says so.'}`;
  }
}

function forcing(wanted: string): string {
  return wanted === 'completed'
    ? '--force completes it anyway, but the customer may never get the money.'
    : `--force makes it ${wanted} anyway, but the customer may be refunded twice.`;
}
