import type { ApiDependencies } from '#api/http/dependencies.ts';
import { accountLabel } from '#shared/processors/registry.ts';
import type { RefundOwner } from '#shared/refunds/model/refund.ts';
import type { Choices } from '../../words/words.ts';

/** The accounts of an environment, where a processor has several; their names are enough to choose by. */
export async function accountsToChoose(
  { lookups }: Pick<ApiDependencies, 'lookups'>,
  owner: RefundOwner,
): Promise<{ accounts: Choices; hasConnected: boolean }> {
  const { accounts, hasConnected } = await lookups.setUp(owner);
  const hasSeveral = accounts.some(
    (each) => accounts.filter(({ processor }) => processor === each.processor).length > 1,
  );
  const choices = accounts.map((each) => [each.id, accountLabel(each)] as const);
  return { accounts: hasSeveral ? choices : [], hasConnected };
}
