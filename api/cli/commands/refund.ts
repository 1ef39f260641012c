import type { Command } from 'commander';
import {
  approveRefund,
  type DecisionOutcome,
  rejectRefund,
} from '../../../shared/refunds/decisions/approve.ts';
import { examples, jsonOption } from '../console/options.ts';
import { explain } from '../console/output.ts';
import { CommandError, withDependencies } from '../console/session.ts';
import { listAttention } from '../reports/refund-attention.ts';
import { loadRefund, showRefund } from '../reports/refund-report.ts';
import { addErasureCommands } from './refund-erasure.ts';
import { addResolutionCommands } from './refund-resolution.ts';

/** `refund`: show refunds, and decide about those that need attention. */
export function addRefundCommands(program: Command): void {
  const refund = program
    .command('refund')
    .description('show refunds, and decide about those that need attention');
  addReadingCommands(refund);
  addResolutionCommands(refund);
  addErasureCommands(refund);
  refund
    .command('approve')
    .description('approve a refund that awaits approval; it is then sent')
    .argument('<refundId>')
    .addHelpText('after', examples('refund approve ref_...'))
    .action(async (refundId: string) => {
      await withDependencies(async (deps, actor) => {
        const outcome = await approveRefund(deps, await loadRefund(deps.db, refundId), actor);
        reportDecision(outcome, 'Approved', 'it is sent now');
      });
    });
  refund
    .command('reject')
    .description('reject a refund that awaits approval; it is never sent')
    .argument('<refundId>')
    .requiredOption('--reason <text>', 'for its timeline and the audit log')
    .addHelpText('after', examples("refund reject ref_... --reason 'Bought by mistake, wants an exchange'"))
    .action(async (refundId: string, { reason }: { reason: string }) => {
      await withDependencies(async (deps, actor) => {
        const outcome = await rejectRefund(deps, await loadRefund(deps.db, refundId), actor, reason);
        reportDecision(outcome, 'Rejected', 'it is cancelled and was never sent');
      });
    });
}

function addReadingCommands(refund: Command): void {
  refund
    .command('show')
    .description('show a refund, its processing state and its timeline')
    .argument('<refundId>')
    .addOption(jsonOption())
    .addHelpText('after', examples('refund show ref_...', 'refund show ref_... --json'))
    .action(async (refundId: string, { json = false }: { json?: boolean }) => {
      await withDependencies(({ db }) => showRefund(db, refundId, json));
    });
  refund
    .command('attention')
    .description(
      'list what needs attention: flagged refunds, refunds awaiting approval, and refused accounts',
    )
    .option('--organization <id>', 'of this organization only')
    .addOption(jsonOption())
    .addHelpText('after', examples('refund attention', 'refund attention --organization org_... --json'))
    .action(async ({ organization, json = false }: { organization?: string; json?: boolean }) => {
      await withDependencies(({ db }) => listAttention(db, organization, json));
    });
}

function reportDecision({ kind, refund }: DecisionOutcome, done: string, consequence: string): void {
  if (kind === 'flagged') {
    throw new CommandError(
      `${refund.id} is flagged: the processor has another refund under its name. Reject it, or dismiss the flag with ` +
        '`refund resolve --dismiss` first. Nothing was changed.',
    );
  }
  if (kind === 'not-pending') {
    throw new CommandError(
      `${refund.id} is not awaiting approval: its status is ${refund.status}. Nothing was changed.`,
    );
  }
  explain(`${done} ${refund.id}: ${consequence}.`);
}
