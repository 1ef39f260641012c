import { type Command, Option } from 'commander';
import type { ResolvedStatus } from '../../../shared/refunds/decisions/evidence.ts';
import { resolvedStatuses } from '../../../shared/refunds/decisions/possible-resolutions.ts';
import { recheckRefund } from '../../../shared/refunds/decisions/recheck.ts';
import {
  keepRefund,
  type ResolutionOutcome,
  resolveRefund,
} from '../../../shared/refunds/decisions/resolve.ts';
import { examples } from '../console/options.ts';
import { explain } from '../console/output.ts';
import { CommandError, withDependencies } from '../console/session.ts';
import { loadRefund } from '../reports/refund-report.ts';

const resolveHelp = `
The processor is asked first. While it says otherwise, or cannot be asked, nothing is changed. --force ends the refund all
the same, and only you know then that it is right: as completed, a customer may be told of money that never came; as failed
or cancelled, the amount is free again and the customer may be paid twice. A completed refund is never forced.

--keep is for a refund that has ended here and that the processor tells differently, and for a flag about another refund
under its name: nothing moves, the flag goes, and the same problem is not shown again.
`;

interface ResolveOptions {
  as?: ResolvedStatus;
  keep?: true;
  reason: string;
  processorRefund?: string;
  force?: true;
}

/** `refund resolve` and `refund recheck`: what a person can do about a refund that does not go on by itself. */
export function addResolutionCommands(refund: Command): void {
  refund
    .command('resolve')
    .description('end a flagged refund by your decision, or let it stand as it is')
    .argument('<refundId>')
    .addOption(new Option('--as <status>', 'how it ended').choices(resolvedStatuses).conflicts('keep'))
    .addOption(new Option('--keep', 'let it stand as it is').conflicts(['processorRefund', 'force']))
    .requiredOption('--reason <text>', 'why, for its timeline and the audit log')
    .option('--processor-refund <id>', "the processor's id of the refund that completed")
    .option('--force', 'also where the processor says otherwise or cannot be asked')
    .addHelpText('after', resolveHelp)
    .addHelpText(
      'after',
      examples(
        "refund resolve ref_... --as completed --processor-refund re_... --reason 'Seen in the dashboard'",
        "refund resolve ref_... --as failed --reason 'The processor confirms that it never had it'",
        "refund resolve ref_... --keep --reason 'The customer keeps the money'",
      ),
    )
    .action(resolve);
  refund
    .command('recheck')
    .description('have a worker read a refund again from its processor now')
    .argument('<refundId>')
    .addHelpText('after', examples('refund recheck ref_...'))
    .action(recheck);
}

async function resolve(refundId: string, options: ResolveOptions, command: Command): Promise<void> {
  const { as: status, keep, reason, processorRefund = null, force = false } = options;
  if (status === undefined && keep === undefined) {
    command.error('error: --as <status> or --keep has to be given');
  }
  await withDependencies(async (deps, actor) => {
    const refund = await loadRefund(deps.db, refundId);
    if (status === undefined) {
      report(await keepRefund(deps, refund, actor, reason), 'kept');
      explain(`${refundId} stays ${refund.status}, and its flag is gone.`);
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
      explain(`${refundId} is read again by the next free worker. See: refund show ${refundId}`);
      return;
    }
    throw new CommandError(`${refundId} waits for approval and has never been at its processor.`);
  });
}

/** @throws CommandError unless the decision was carried out. */
function report(outcome: ResolutionOutcome, wanted: ResolvedStatus | 'kept'): void {
  if (outcome.kind !== 'done') throw new CommandError(`${whyNot(outcome, wanted)} Nothing was changed.`);
}

function whyNot(
  outcome: Exclude<ResolutionOutcome, { kind: 'done' }>,
  wanted: ResolvedStatus | 'kept',
): string {
  const { id, status } = outcome.refund;
  switch (outcome.kind) {
    case 'not-flagged':
      return `${id} is not flagged: it is ${status} and needs nobody.`;
    case 'not-allowed':
      return `${id} is ${status} and cannot be ${wanted}.`;
    case 'changed':
      return `${id} has changed meanwhile; look at it again.`;
    case 'leased':
      return `${id} is being worked on; repeat after ${outcome.until.toISOString()}.`;
    case 'contradicted':
      return `${outcome.evidence} ${outcome.forceable ? forcing(wanted) : 'A completed refund fails on evidence alone.'}`;
  }
}

function forcing(wanted: ResolvedStatus | 'kept'): string {
  return wanted === 'completed'
    ? 'With --force it is called completed all the same, though the customer may never get the money.'
    : `With --force it is called ${wanted} all the same, and the customer may be refunded twice.`;
}
