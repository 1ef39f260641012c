import { InvalidArgumentError } from 'commander';
import { findOrganization } from '#shared/platform/organization.ts';
import { eraseRefunds, findErasable } from '#shared/refunds/decisions/erase.ts';
import { type ResolvedStatus, resolvedStatuses } from '#shared/refunds/decisions/evidence.ts';
import {
  dismissFlag,
  type ResolutionOutcome,
  recheckRefund,
  resolveRefund,
} from '#shared/refunds/decisions/resolve.ts';
import { command, commands } from '../console/command.ts';
import {
  choice,
  conflicting,
  environment,
  flag,
  json,
  organization,
  reading,
  required,
  text,
  time,
} from '../console/options.ts';
import { explain, printData } from '../console/output.ts';
import { CommandError } from '../console/session.ts';
import { listAttention } from '../reports/refund-attention.ts';
import { loadRefund, showRefund } from '../reports/refund-report.ts';

const resolveHelp = `
--as reads the refund from the processor first, and changes nothing while the processor contradicts it or cannot be read.
--force resolves it anyway, at your own risk: as completed, the customer may never get the money; as failed or cancelled, the
amount can be refunded again and the customer may be paid twice. A completed refund can't be forced.

--dismiss is for a refund that has ended, and for a flag about another refund under its name: nothing moves, and the same
discrepancy is not flagged again.
`;

const eraseHelp = `
Erases metadata, the reasons that people gave, and what processors and webhook receivers said. Amounts, statuses, ids,
idempotency keys and timelines stay. This can't be undone. Needs the DATABASE_URL of the owner of the database.
`;

const argument = ['<refundId>'] as const;
const reason = required(text('<text>', 'for its timeline and the audit log'));

/** Refunds, and decisions about those that need attention. */
export const refundCommands = commands('show refunds, and decide about those that need attention', {
  show: command({
    description: 'show a refund, its processing state and its timeline',
    argument,
    options: { json },
    examples: ['ref_...', 'ref_... --json'],
    run: ({ db }, { json }, refundId) => showRefund(db, refundId, json),
  }),
  attention: command({
    description:
      'list what needs attention: flagged refunds, refunds awaiting approval, and refused accounts',
    options: { organization: text('<id>', 'of this organization only'), json },
    examples: ['', '--organization org_... --json'],
    run: ({ db }, { organization, json }) => listAttention(db, organization, json),
  }),
  resolve: command({
    description: 'resolve a flagged refund, or dismiss its flag',
    argument,
    options: {
      as: conflicting(choice('<status>', resolvedStatuses, 'its final status'), 'dismiss'),
      dismiss: conflicting(flag('keep its status and dismiss the flag'), 'processorRefund', 'force'),
      reason,
      processorRefund: text('<id>', "the processor's id of the refund that completed"),
      force: flag('also if the processor contradicts it or cannot be read'),
    },
    explanation: resolveHelp,
    examples: [
      "ref_... --as completed --processor-refund re_... --reason 'Seen in the dashboard'",
      "ref_... --as failed --reason 'The processor confirms that it never had it'",
      "ref_... --dismiss --reason 'The customer keeps the money'",
    ],
    async run(session, options, refundId, command) {
      const {
        as: status,
        dismiss,
        reason,
        processorRefund: externalRefundId = null,
        force = false,
      } = options;
      if (status === undefined && dismiss === undefined) {
        command.error('error: give --as <status> or --dismiss');
      }
      const refund = await loadRefund(session.db, refundId);
      if (status === undefined) {
        report(await dismissFlag(session, refund, session.actor, reason), 'dismissed');
        return explain(`Dismissed the flag of ${refundId}, which stays ${refund.status}.`);
      }
      const resolution = { status, reason, externalRefundId, force };
      report(await resolveRefund(session, refund, session.actor, resolution), status);
      explain(`${refundId} is ${status}.`);
    },
  }),
  recheck: command({
    description: 'read a refund again from its processor',
    argument,
    examples: ['ref_...'],
    async run(session, _options, refundId) {
      if (!(await recheckRefund(session, await loadRefund(session.db, refundId), session.actor))) {
        throw new CommandError(`${refundId} awaits approval and has never been sent to its processor.`);
      }
      explain(`Recheck of ${refundId} requested. See: refund show ${refundId}`);
    },
  }),
  erase: command({
    description: 'erase the personal data of refunds',
    argument: ['<refundId...>'],
    explanation: eraseHelp,
    examples: ['ref_...'],
    async run(session, _options, refundIds: string[]) {
      const owners = new Map<string, string>();
      for (const id of refundIds) owners.set(id, (await loadRefund(session.db, id)).organizationId);
      for (const organizationId of new Set(owners.values())) {
        const own = [...owners].flatMap(([id, owner]) => (owner === organizationId ? [id] : []));
        await eraseRefunds(session, { organizationId, refundIds: own, actor: session.actor });
      }
      explain(`Erased the personal data of ${owners.size} refunds.`);
    },
  }),
  'erase-matching': command({
    description: 'list the refunds of a customer or of a time, and erase their personal data with --confirm',
    options: {
      ...{ organization, environment },
      metadata: reading('<key=value>', 'with this metadata; repeat it to require several', readPair),
      createdBefore: time('<time>', 'a day or a time'),
      confirm: flag('erase instead of listing'),
    },
    explanation: eraseHelp,
    examples: [
      '--organization org_... --environment live --metadata customer=ada@example.com',
      '--organization org_... --environment live --created-before 2024-01-01 --confirm',
    ],
    async run(session, { organization: organizationId, environment, metadata, createdBefore, confirm }) {
      if (metadata === undefined && createdBefore === undefined) {
        throw new CommandError('Give --metadata, --created-before or both.');
      }
      await findOrganization(session.db, organizationId);
      const place = { organizationId, environment };
      const refundIds = await findErasable(session.db, place, { metadata, createdBefore });
      for (const id of refundIds) printData(id);
      if (confirm !== true) {
        return explain(`${refundIds.length} refunds match. Nothing was erased; repeat with --confirm.`);
      }
      await eraseRefunds(session, { organizationId, refundIds, actor: session.actor });
      explain(`Erased the personal data of ${refundIds.length} refunds.`);
    },
  }),
});

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

function readPair(text: string, earlier: Readonly<Record<string, string>> = {}): Record<string, string> {
  const [, key, value] = /^([^=]+)=(.*)$/s.exec(text) ?? [];
  if (key === undefined || value === undefined) {
    throw new InvalidArgumentError('Give a key and a value, such as customer=42.');
  }
  return { ...earlier, [key]: value };
}
