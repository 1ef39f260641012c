import { z } from 'zod';
import { roles } from '../../access/roles.ts';
import { type AuditAction, writeAudit } from '../../audit/audit-log.ts';
import type { ServiceSettings } from '../../platform/config.ts';
import type { DatabaseTransaction, IdentityProvider, Stores } from '../../platform/database.ts';
import { ServiceError } from '../../platform/errors.ts';
import { changeOrganization } from '../../platform/organization.ts';
import { checkOutgoingUrl } from '../../platform/outgoing/outgoing-url.ts';
import type { SecretBox } from '../../platform/secrets/secrets.ts';

const text = z.string().trim().min(1).max(400);

/** Enough for most providers; some send the claim for roles only for one of its own. */
export const defaultScopes = 'openid email profile';

/** What an owner or an operator enters. */
const providerSettings = z.strictObject({
  issuer: text,
  clientId: text,
  clientSecret: text,
  /** What is asked for, with spaces between. */
  scopes: text
    .transform((scopes) => scopes.split(/\s+/))
    .refine((scopes) => scopes.includes('openid'), 'needs openid')
    .transform((scopes) => scopes.join(' '))
    .default(defaultScopes),
  /** The name or the path of the claim that decides the role: a text or a list of texts. */
  roleClaim: text,
  roles: z
    .record(text, z.enum(roles))
    .refine((map) => Object.keys(map).length > 0, 'needs at least one role'),
  /** Whether an address counts of which the provider does not say whether it is verified. */
  acceptsUnverified: z.boolean().default(false),
});
type ProviderSettings = z.infer<typeof providerSettings>;

/** A change of an organization's provider. */
interface Change {
  organizationId: string;
  actor: string;
}

/**
 * Stores the provider of an organization. It is enabled, and not enforced until an owner has signed in with these settings.
 * @throws ServiceError validation_error; not_found for the organization.
 */
export async function setProvider(
  deps: Stores & { secrets: SecretBox; settings: ServiceSettings },
  { organizationId, actor, settings }: Change & { settings: unknown },
): Promise<void> {
  const checked = checkSettings(settings, deps.settings.NODE_ENV === 'production');
  const { clientSecret: _, ...shown } = checked;
  const sealed = deps.secrets.seal(checked.clientSecret, clientSecretContext(organizationId));
  const now = deps.clock.now();
  const columns = {
    ...{ ...shown, tellsSignInTime: false, updatedAt: now },
    ...{ encryptedClientSecret: sealed.bytes, encryptionKeyId: sealed.keyId },
    ...{ disabledAt: null, isEnforced: false, ownerSignedInAt: null },
  };
  await changeOrganization(deps.db, organizationId, async (tx) => {
    const where = { organizationId };
    await tx.identityProvider.upsert({ where, create: { ...where, ...columns }, update: columns });
    await audit(tx, { organizationId, actor }, 'company_sign_in.set', shown, now);
  });
}

function checkSettings(settings: unknown, isProduction: boolean): ProviderSettings {
  const parsed = providerSettings.safeParse(settings);
  if (!parsed.success) {
    const [{ path = [], message = '' } = {}] = parsed.error.issues;
    throw new ServiceError('validation_error', `${path.join('.') || 'settings'}: ${message}`);
  }
  const problem = checkOutgoingUrl(parsed.data.issuer, isProduction);
  if (problem !== null) throw new ServiceError('validation_error', `issuer: ${problem}.`);
  return parsed.data;
}

/** Disables the provider; a rule that requires it ends, so that members sign in with their passwords. */
export async function disableProvider(deps: Stores, change: Change): Promise<void> {
  const now = deps.clock.now();
  await changeProvider(deps, change, 'company_sign_in.disabled', { disabledAt: now, isEnforced: false });
}

/**
 * Requires of members other than owners that they sign in with the provider, or stops that.
 * @throws ServiceError validation_error while no owner has signed in with the settings; not_found without a provider.
 */
export async function enforceProvider(
  deps: Stores,
  { isEnforced, ...change }: Change & { isEnforced: boolean },
): Promise<void> {
  const action = isEnforced ? 'company_sign_in.enforced' : 'company_sign_in.optional';
  await changeProvider(deps, change, action, { isEnforced });
}

async function changeProvider(
  { db, clock }: Stores,
  change: Change,
  action: AuditAction,
  data: { isEnforced: boolean; disabledAt?: Date },
): Promise<void> {
  const { organizationId } = change;
  await changeOrganization(db, organizationId, async (tx) => {
    const provider = await findProvider(tx, organizationId);
    if (provider === null) throw new ServiceError('not_found', 'No company sign-in is set up.');
    if (data.isEnforced && provider.ownerSignedInAt === null) {
      const message =
        'First an owner must sign in with the company account, so that the settings are known to work.';
      throw new ServiceError('validation_error', message);
    }
    await tx.identityProvider.update({ where: { organizationId }, data });
    await audit(tx, change, action, {}, clock.now());
  });
}

/** The enabled provider of an organization, or null. */
export async function findProvider(
  db: DatabaseTransaction,
  organizationId: string,
): Promise<IdentityProvider | null> {
  return await db.identityProvider.findUnique({ where: { organizationId, disabledAt: null } });
}

/** @throws SecretUnreadableError for an unknown encryption key. */
export function openClientSecret(secrets: SecretBox, provider: IdentityProvider): string {
  const { organizationId, encryptedClientSecret: bytes, encryptionKeyId: keyId } = provider;
  return secrets.open({ keyId, bytes }, clientSecretContext(organizationId));
}

/** What a client secret is encrypted for. */
export function clientSecretContext(organizationId: string): string {
  return `identity-provider/${organizationId}`;
}

async function audit(
  tx: DatabaseTransaction,
  { organizationId, actor }: Change,
  action: AuditAction,
  detail: object,
  now: Date,
): Promise<void> {
  await writeAudit(tx, { organizationId, actor, action, target: organizationId, detail: { ...detail } }, now);
}
