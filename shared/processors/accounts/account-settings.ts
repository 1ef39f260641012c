import { type AuditAction, writeAudit } from '../../audit/audit-log.ts';
import type { Prisma, Stores } from '../../platform/database.ts';
import { ServiceError } from '../../platform/errors.ts';
import { changeOrganization } from '../../platform/organization.ts';
import { processorKind } from '../registry.ts';
import { type AccountName, type AccountPlace, findAccount } from './account.ts';

/** A change of the settings of an account, and what the audit log says of it. */
interface SettingsChange {
  data: Prisma.ProcessorAccountUpdateManyMutationInput;
  detail: object;
}

/**
 * Changes settings of an account, and of those that are connected to it.
 * @param changeOf null to change nothing.
 * @throws ServiceError not_found for an account that is not set up.
 */
export async function changeSettings(
  { db, clock }: Stores,
  place: AccountPlace,
  actor: string,
  action: AuditAction,
  changeOf: (account: AccountName) => SettingsChange | null,
): Promise<void> {
  const { organizationId, environment, processor } = place;
  await changeOrganization(db, organizationId, async (tx) => {
    const account = await findAccount(tx, place);
    const change = changeOf(account);
    if (change === null) return;
    const { id, name } = account;
    // The account first: what connects another one to it meanwhile waits, and then has the change.
    await tx.processorAccount.update({ where: { id }, data: change.data });
    await tx.processorAccount.updateMany({ where: { parentId: id }, data: change.data });
    const detail = { environment, processor, name, ...change.detail };
    await writeAudit(tx, { organizationId, actor, action, target: id, detail }, clock.now());
  });
}

/**
 * Sets how many calls per second each operation of an account gets, in place of PROCESSOR_ACCOUNT_CALLS_PER_SECOND. Accounts that are
 * connected to it get as many each.
 * @param request.callsPerSecond 0 for no limit; null for the setting.
 * @throws ServiceError not_found for an account that is not set up.
 */
export async function setCallsPerSecond(
  deps: Stores,
  { callsPerSecond: to, actor, ...place }: AccountPlace & { callsPerSecond: number | null; actor: string },
): Promise<void> {
  await changeSettings(deps, place, actor, 'account.rate_set', ({ callsPerSecond: from }) => ({
    data: { callsPerSecond: to },
    detail: { from, to },
  }));
}

/** What refunds can do by default with the transfer and the application fee of their payment. */
export const transferDefaults = ['keep', 'reverse'] as const;
export const applicationFeeDefaults = ['keep', 'refund'] as const;

interface RefundDefaults {
  transfers: (typeof transferDefaults)[number];
  applicationFees: (typeof applicationFeeDefaults)[number];
}

/**
 * Sets what refunds of an account do that do not say otherwise, from the next request on.
 * @throws ServiceError not_found for an account that is not set up; validation_error for a processor that has no such options.
 */
export async function setRefundDefaults(
  deps: Stores,
  { transfers, applicationFees, actor, ...place }: AccountPlace & RefundDefaults & { actor: string },
): Promise<void> {
  const { displayName, refundOptions } = processorKind(place.processor);
  const isPossible =
    (transfers === 'keep' || refundOptions.includes('reverseTransfer')) &&
    (applicationFees === 'keep' || refundOptions.includes('refundApplicationFee'));
  if (!isPossible)
    throw new ServiceError('validation_error', `processor: ${displayName} has no such options.`);
  await changeSettings(deps, place, actor, 'account.defaults_set', (account) => ({
    data: { transfers, applicationFees },
    detail: {
      from: { transfers: account.transfers, applicationFees: account.applicationFees },
      to: { transfers, applicationFees },
    },
  }));
}
