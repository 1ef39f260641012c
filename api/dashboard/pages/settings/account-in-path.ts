import type { FastifyRequest } from 'fastify';
import type { ApiDependencies } from '#api/http/dependencies.ts';
import { type AccountName, findOwnAccount } from '#shared/processors/accounts/account.ts';
import { contextOf } from '../../http/access.ts';
import { idInPath, pageNotFound } from '../../http/paths.ts';

type Stores = Pick<ApiDependencies, 'db'>;

/** The account of a request's path. @throws ServiceError not_found for that of another owner, as for an unknown one. */
export async function accountInPath({ db }: Stores, request: FastifyRequest): Promise<AccountName> {
  return await findOwnAccount(db, contextOf(request).owner, idInPath(request, 'accountId', 'acc'));
}

/** The same, with credentials and settings of its own. @throws ServiceError not_found for a connected one. */
export async function ownAccountInPath(deps: Stores, request: FastifyRequest): Promise<AccountName> {
  const account = await accountInPath(deps, request);
  if (account.parentId === null) return account;
  throw pageNotFound();
}
