import { createOrganization } from '#shared/organizations/create-organization.ts';
import { command, commands, listing } from '../console/command.ts';
import { required, text } from '../console/options.ts';
import { explain, printData } from '../console/output.ts';

/** The tenants of the installation. */
export const organizationCommands = commands('create and list organizations', {
  create: command({
    description: 'create an organization with the default policy, and print its id',
    options: { name: required(text('<name>', 'display name')) },
    examples: ["--name 'Acme Inc'"],
    async run(session, { name }) {
      const { id } = await createOrganization(session, { name, actor: session.actor });
      printData(id);
      explain(`Created ${id}. Next: set up a processor account and create an API key.`);
    },
  }),
  list: listing({
    description: 'list all organizations',
    examples: [''],
    read: ({ db }) => db.organization.findMany({ orderBy: [{ createdAt: 'asc' }, { id: 'asc' }] }),
    empty: 'There are no organizations.',
    columns: { ID: ({ id }) => id, NAME: ({ name }) => name, CREATED: ({ createdAt }) => createdAt },
  }),
});
