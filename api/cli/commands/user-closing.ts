import type { Command } from 'commander';
import { deleteUser } from '../../../shared/people/members/delete-user.ts';
import { disableUser, enableUser } from '../../../shared/people/members/disable-user.ts';
import { findUser } from '../../../shared/people/members/users.ts';
import { emailOption, examples, type KeyRevocation, revokeKeysOption } from '../console/options.ts';
import { explain } from '../console/output.ts';
import { countOf, explainRemainingKeys } from '../console/remaining-keys.ts';
import { withDependencies } from '../console/session.ts';

interface EmailOption {
  email: string;
}

/** `user disable`, `enable` and `delete`, which concern a user in every organization. */
export function addUserClosingCommands(user: Command): void {
  user
    .command('disable')
    .description(
      'end all sessions of a user, revoke the invitations that the user made, and refuse sign-ins in every organization until `user enable`',
    )
    .addOption(emailOption())
    .addOption(revokeKeysOption())
    .addHelpText('after', examples('user disable --email ada@example.com --revoke-keys'))
    .action(disable);
  user
    .command('enable')
    .description('let a disabled user sign in again')
    .addOption(emailOption())
    .addHelpText('after', examples('user enable --email ada@example.com'))
    .action(enable);
  user
    .command('delete')
    .description(
      'delete a user, revoke their API keys and the invitations that they made, and erase the address; needs the owner of the database',
    )
    .addOption(emailOption())
    .addHelpText(
      'after',
      '\nThis can\'t be undone. Run `user disable` first to see the API keys. The user\'s ID stays in timelines and the audit log, shown as "Deleted user".\n',
    )
    .addHelpText('after', examples('user delete --email ada@example.com'))
    .action(deleteUserOf);
}

async function disable({ email, revokeKeys = false }: EmailOption & KeyRevocation): Promise<void> {
  await withDependencies(async (deps, actor) => {
    const { userId } = await findUser(deps.db, email);
    const keys = await disableUser(deps, { userId, actor, revokesKeys: revokeKeys });
    explain(`Disabled ${userId}, ended all sessions and revoked open invitations of the user.`);
    if (revokeKeys) explain(`Revoked ${countOf(keys)}.`);
    else explainRemainingKeys('the user', keys);
  });
}

async function enable({ email }: EmailOption): Promise<void> {
  await withDependencies(async (deps, actor) => {
    const { userId } = await findUser(deps.db, email);
    await enableUser(deps, { userId, actor });
    explain(`Enabled ${userId}.`);
  });
}

async function deleteUserOf({ email }: EmailOption): Promise<void> {
  await withDependencies(async (deps, actor) => {
    const { userId, isErased, revokedKeys, openInvitations } = await deleteUser(deps, { email, actor });
    if (isErased) {
      explain(`Deleted ${userId ?? 'what was stored about the address'}.`);
      if (revokedKeys.length > 0) explain(`Revoked ${countOf(revokedKeys)} that the user created.`);
    } else explain('No user has this address; nothing was deleted.');
    for (const { id, organizationId } of openInvitations) {
      explain(
        `${id} of ${organizationId} still invites the address. To erase that as well, revoke it there and repeat the command.`,
      );
    }
  });
}
