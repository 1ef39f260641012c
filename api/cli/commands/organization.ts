import type { Command } from 'commander';
import { createOrganization } from '../../../shared/organizations/create-organization.ts';
import { examples, jsonOption, type Shown } from '../console/options.ts';
import { explain, printData, printList } from '../console/output.ts';
import { withDependencies } from '../console/session.ts';

/** `organization`: the tenants of the installation. */
export function addOrganizationCommands(program: Command): void {
  const organization = program.command('organization').description('create and list organizations');
  organization
    .command('create')
    .description('create an organization with the default policy, and print its id')
    .requiredOption('--name <name>', 'display name')
    .addHelpText('after', examples("organization create --name 'Acme Inc'"))
    .action(async ({ name }: { name: string }) => {
      await withDependencies(async (deps, actor) => {
        const { id } = await createOrganization(deps, { name, actor });
        printData(id);
        explain(`Created ${id}. Next: set up a processor account and create an API key.`);
      });
    });
  organization
    .command('list')
    .description('list all organizations')
    .addOption(jsonOption())
    .addHelpText('after', examples('organization list'))
    .action(listOrganizations);
}

async function listOrganizations({ json }: Shown): Promise<void> {
  await withDependencies(async ({ db }) => {
    printList(await db.organization.findMany({ orderBy: [{ createdAt: 'asc' }, { id: 'asc' }] }), {
      json,
      empty: 'There are no organizations.',
      columns: { ID: ({ id }) => id, NAME: ({ name }) => name, CREATED: ({ createdAt }) => createdAt },
    });
  });
}
