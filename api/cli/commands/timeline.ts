import { InvalidArgumentError } from 'commander';
import type { Database } from '#shared/platform/database.ts';
import { findOrganization } from '#shared/platform/organization.ts';
import { dayOf, rootsOf } from '#shared/timeline/read-days.ts';
import {
  countWithoutHash,
  type TimelineProblem,
  type Verification,
  verifyTimelines,
} from '#shared/timeline/verify.ts';
import { command, commands } from '../console/command.ts';
import { reading, text, time, withDefault } from '../console/options.ts';
import { explain, printData } from '../console/output.ts';
import { CommandError } from '../console/session.ts';

const help = `
Computes every hash and every daily root again. Each problem is a line with organization, environment, day, refund, seq and what is
wrong; the last root of each environment that agrees with its events is a line that begins with "root". With --root it also compares
a root that was published, as in the webhook timeline.root. docs/operations/timeline.md explains each line.

Exit code: 0 when everything agrees, 1 when something does not.
`;

interface PublishedRoot {
  day: string;
  root: string;
}

function collectRoots(text: string, earlier: readonly PublishedRoot[] = []): PublishedRoot[] {
  const [, day, root] = /^(\d{4}-\d\d-\d\d)=([0-9a-f]{64})$/.exec(text) ?? [];
  if (day === undefined || root === undefined || Number.isNaN(Date.parse(day)))
    throw new InvalidArgumentError('Give a day and its root, 64 hexadecimal digits: 2026-11-23=9f86d081...');
  return [...earlier, { day, root }];
}

/** The proof that no event was changed or removed. */
export const timelineCommands = commands('prove the timelines of refunds', {
  verify: command({
    description: 'prove that no event of a refund was changed or removed',
    options: {
      organization: text('<id>', 'only of this organization'),
      since: time('<day>', 'events of this day, in UTC, or later; default: all'),
      root: withDefault(
        reading('<day>=<root>', 'a root that was published; may be repeated', collectRoots),
        [],
      ),
    },
    explanation: help,
    examples: ['', '--organization org_... --since 2026-11-01 --root 2026-11-23=9f86d081...'],
    async run({ db }, { organization, since, root: published }) {
      const scope = {
        organizationId: organization ?? null,
        since: since === undefined ? null : dayOf(since),
      };
      if (organization !== undefined) await findOrganization(db, organization);
      else if (published.length > 0) throw new CommandError('--root needs --organization.');
      if (published.some(({ day }) => day < (scope.since ?? '')))
        throw new CommandError('--since must not be after the day of a --root.');
      const verification = await verifyTimelines(db, scope, printProblem);
      for (const { organizationId, environment, day, root } of verification.lastRoots)
        printData(['root', organizationId, environment, day, root].join(' '));
      explain(summaryOf(verification));
      if (scope.since === null) {
        const without = await countWithoutHash(db, scope.organizationId);
        if (without > 0) explain(`Not proven: ${without} events from before hashes were recorded.`);
      }
      let missing = 0;
      for (const each of published) if (!(await isHere(db, organization, each))) missing += 1;
      const problems = verification.problems + missing;
      if (problems > 0)
        throw new CommandError(`Not proven: ${problems} ${problems === 1 ? 'problem' : 'problems'}.`);
    },
  }),
});

function printProblem({ organizationId, environment, day, refundId, seq, problem }: TimelineProblem): void {
  const where = refundId === null ? '' : ` ${refundId} seq ${seq}`;
  printData(`${organizationId} ${environment} ${day}${where}: ${problem}`);
}

function summaryOf({ events, erased, putBack }: Verification): string {
  const restored = putBack === 0 ? '' : `; ${putBack} put refunds back after a restore`;
  return `Compared ${events} events. Personal data was erased from ${erased} of them${restored}.`;
}

/** Compares a root that was published with those on record; explains a difference. */
async function isHere(
  db: Database,
  organization: string | undefined,
  { day, root }: PublishedRoot,
): Promise<boolean> {
  const here = (await rootsOf(db, day)).filter(({ organizationId }) => organizationId === organization);
  if (here.some((each) => each.root === root)) return true;
  const cause = 'or the database was restored from a backup that was made before';
  if (here.length === 0) {
    explain(`${day}: there is no root. It was removed or not made yet, ${cause}.`);
  } else {
    const roots = here.map((each) => `${each.root} (${each.environment})`).join(', ');
    explain(`${day}: the published root is not that of the database, ${roots}.`);
    explain(`Events of this day or one before it were changed, removed or added, ${cause}.`);
  }
  return false;
}
