import { z } from 'zod';
import { ServiceError } from '../../../../shared/platform/errors.ts';
import { loadAccount } from '../../../../shared/processors/accounts/connections.ts';
import {
  type AccountSummary,
  listProcessorAccounts,
} from '../../../../shared/processors/accounts/manage-accounts.ts';
import {
  type ConnectionTest,
  testConnection,
} from '../../../../shared/processors/accounts/test-connection.ts';
import { processorNames } from '../../../../shared/processors/registry.ts';
import type { ApiDependencies } from '../../../http/dependencies.ts';
import type { Api } from '../../../http/route.ts';
import { type Context, contextOf } from '../../http/access.ts';
import { originOf } from '../../http/origin.ts';
import { sendPage } from '../../http/render.ts';
import { AccountCard } from './account-card.tsx';
import { credentialPages } from './credentials.tsx';
import { sendOnce } from './once.tsx';
import { processorInPath } from './processor-in-path.ts';
import { Done, SettingsFrame } from './settings-frame.tsx';

const path = '/settings/accounts';
const querySchema = z.object({ done: z.string().optional().catch(undefined) });
const doneWords = new Map([
  [
    'set',
    'The credentials are stored. Test the connection to see whether they work; refunds that had to wait are tried again now.',
  ],
]);

/** `/settings/accounts`: the accounts at processors that hold the payments of the environment that the page is in. */
export function accountPages(room: Api, deps: ApiDependencies): void {
  room.get(path, { config: { role: 'viewer' } }, async (request, reply) => {
    const { done } = querySchema.parse(request.query);
    const view = await readAccounts(deps, contextOf(request), originOf(request));
    return sendPage(reply, <Accounts {...view} done={done} test={null} />);
  });

  room.post<{ Params: { processor: string } }>(
    `${path}/:processor/test`,
    { config: { role: 'admin' } },
    async (request, reply) => {
      const context = contextOf(request);
      const processor = processorInPath(request.params);
      const result = await testAccount(deps, context, processor);
      const view = await readAccounts(deps, context, originOf(request));
      const summary = view.accounts.find((account) => account.processor === processor) ?? null;
      return sendOnce(request, reply, {
        part: <AccountCard {...view} processor={processor} account={summary} test={result} />,
        page: () => <Accounts {...view} done={undefined} test={{ processor, result }} />,
      });
    },
  );

  credentialPages(room, deps);
}

/** @throws ServiceError not_found where no account is set up. */
async function testAccount(
  deps: ApiDependencies,
  context: Context,
  processor: string,
): Promise<ConnectionTest> {
  const { organization, environment } = context;
  const key = { organizationId: organization.id, environment, processor };
  if ((await deps.db.processorAccount.count({ where: key })) === 0) {
    throw new ServiceError('not_found', 'This account is not set up.');
  }
  const account = await loadAccount(deps.db, key);
  return await testConnection(deps, { account, actor: context.actor });
}

interface AccountsView {
  context: Context;
  accounts: readonly AccountSummary[];
  origin: string;
  now: Date;
}

async function readAccounts(
  { db, clock }: ApiDependencies,
  context: Context,
  origin: string,
): Promise<AccountsView> {
  const accounts = await listProcessorAccounts(db, context.organization.id, context.environment);
  return { context, accounts, origin, now: clock.now() };
}

interface AccountsProps extends AccountsView {
  done: string | undefined;
  /** What a test has shown just now. */
  test: { processor: string; result: ConnectionTest } | null;
}

function Accounts({ done, test, ...view }: AccountsProps) {
  const { context, accounts } = view;
  return (
    <SettingsFrame context={context} page="accounts">
      <div class="stack">
        <Done done={done} words={doneWords} />
        <p class="muted">
          The {context.environment} payments are held at these processors. Test and live have accounts of
          their own.
        </p>
        <div class="columns">
          {processorNames.map((processor) => (
            <AccountCard
              key={processor}
              {...view}
              processor={processor}
              account={accounts.find((account) => account.processor === processor) ?? null}
              test={test?.processor === processor ? test.result : null}
            />
          ))}
        </div>
      </div>
    </SettingsFrame>
  );
}
