import { auditBatches } from '#shared/audit/audit-log.ts';
import { findOrganization } from '#shared/platform/organization.ts';
import { command, commands } from '../console/command.ts';
import { organization, time } from '../console/options.ts';
import { explain, jsonOf, writeLine } from '../console/output.ts';
import { CommandError } from '../console/session.ts';

const exportHelp = `
Each line is an object with id, createdAt, actor, action, target and detail. docs/security.md explains them. Times are ISO 8601; a
day alone begins at midnight UTC.
`;

/** Entries appear when their transaction commits: an export up to now would miss those of open ones. */
const openTransactionsMs = 60_000;

/** The audit log of an organization. */
export const auditCommands = commands('export the audit log', {
  export: command({
    description: 'write the audit log to stdout as JSON lines, oldest entries first',
    options: {
      organization,
      since: time('<time>', 'entries made at or after this time'),
      until: time('<time>', 'entries made before this time; default: a minute ago'),
    },
    explanation: exportHelp,
    examples: [
      '--organization org_... > audit.jsonl',
      '--organization org_... --since 2026-10-01 --until 2026-11-01',
    ],
    async run({ db, clock }, { organization: organizationId, ...range }) {
      const minuteAgo = new Date(clock.now().getTime() - openTransactionsMs);
      const { since = new Date(0), until = minuteAgo } = range;
      if (since >= until)
        throw new CommandError('--since must be before --until, which is a minute ago by default.');
      await findOrganization(db, organizationId);
      let count = 0;
      for await (const entries of auditBatches(db, { organizationId, since, until })) {
        for (const { organizationId: _, ...entry } of entries) await writeLine(jsonOf(entry));
        count += entries.length;
      }
      const exported = `${count} ${count === 1 ? 'entry' : 'entries'}`;
      const complete = until < minuteAgo ? until : minuteAgo;
      explain(`Exported ${exported}. Continue with --since ${complete.toISOString()}.`);
    },
  }),
});
