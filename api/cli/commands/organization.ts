import { Option } from 'commander';
import { createOrganization } from '#shared/organizations/create-organization.ts';
import { maxFourEyesDays, setFourEyesDays } from '#shared/organizations/four-eyes-days.ts';
import type { AdminCommand } from '../console/admin-command.ts';
import { jsonOption, type Owner, organizationOption, type Shown, wholeNumber } from '../console/options.ts';
import { explain, printData, printList } from '../console/output.ts';
import type { Session } from '../console/session.ts';

/** `organization`: the tenants of the installation. */
export function addOrganizationCommands(program: AdminCommand): void {
  const organization = program.command('organization').description('create and list organizations');
  organization
    .command('create')
    .description('create an organization with the default policy, and print its id')
    .requiredOption('--name <name>', 'display name')
    .examples("organization create --name 'Acme Inc'")
    .run(async (session, { name }: { name: string }) => {
      const { id } = await createOrganization(session, { name, actor: session.actor });
      printData(id);
      explain(`Created ${id}. Next: set up a processor account and create an API key.`);
    });
  organization
    .command('set')
    .description('change a setting of an organization')
    .addOption(organizationOption)
    .addOption(
      new Option(
        '--four-eyes-days <days>',
        `for so many days after an invitation was accepted, the inviter and the invited cannot approve each other's refunds (0 to ${maxFourEyesDays}, 0 for no such rule)`,
      )
        .argParser(wholeNumber(0, maxFourEyesDays, `Use a whole number from 0 to ${maxFourEyesDays}.`))
        .makeOptionMandatory(),
    )
    .examples('organization set --organization org_... --four-eyes-days 7')
    .run(async (session, options: Owner & { fourEyesDays: number }) => {
      const { organization: organizationId, fourEyesDays: days } = options;
      await setFourEyesDays(session, { organizationId, actor: session.actor, days });
      explain(`Set the four-eyes days of ${organizationId} to ${days}.`);
    });
  organization
    .command('list')
    .description('list all organizations')
    .addOption(jsonOption)
    .examples('organization list')
    .run(listOrganizations);
}

async function listOrganizations({ db }: Session, { json }: Shown): Promise<void> {
  printList(await db.organization.findMany({ orderBy: [{ createdAt: 'asc' }, { id: 'asc' }] }), {
    json,
    empty: 'There are no organizations.',
    columns: { ID: ({ id }) => id, NAME: ({ name }) => name, CREATED: ({ createdAt }) => createdAt },
  });
}
