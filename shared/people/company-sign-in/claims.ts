import type { IDToken, UserInfoResponse } from 'openid-client';
import { roles } from '../../access/roles.ts';
import type { IdentityProvider, Role } from '../../platform/database.ts';
import type { RefusalCause } from './refusal.ts';

/** What a provider says of an account: the claims of a verified ID token, and those of UserInfo that it lacks. */
export type Claims = IDToken;

type Values = Readonly<Record<string, unknown>>;

/** Whether an ID token lacks a claim that a sign-in needs, and that UserInfo may have. */
export function needsUserInfo(provider: Pick<IdentityProvider, 'roleClaim'>, claims: Values): boolean {
  const hasRoles = valueAt(claims, provider.roleClaim) !== undefined || hasTooManyGroups(provider, claims);
  const saysVerified = claims.email_verified !== undefined || claims.xms_edov !== undefined;
  return !hasRoles || claims.email === undefined || !saysVerified;
}

/** Adds what an ID token lacks. What either says of whether an address is verified counts for its own address alone. */
export function withUserInfo(claims: Claims, userInfo: UserInfoResponse): Claims {
  if (claims.email === userInfo.email) return { ...userInfo, ...claims };
  const without = <Said extends Claims | UserInfoResponse>({
    email_verified: _verified,
    xms_edov: _owned,
    ...others
  }: Said) => others;
  return claims.email === undefined
    ? ({ ...userInfo, ...without(claims) } as Claims)
    : ({ ...without(userInfo), ...claims } as Claims);
}

/**
 * The address of an account, or why there is none that counts. It counts when the provider says that it is verified; without a word on it
 * if the settings accept that; never when the provider says that it is not.
 */
export function addressIn(
  { acceptsUnverified }: Pick<IdentityProvider, 'acceptsUnverified'>,
  { email, email_verified: isVerified, xms_edov: isOwned }: Claims,
): { email: string } | { cause: RefusalCause } {
  if (typeof email !== 'string' || email === '') return { cause: 'no_email' };
  const marks = [isVerified, isOwned].filter((mark) => mark !== undefined);
  const isUsable =
    marks.length === 0 ? acceptsUnverified : marks.every((mark) => mark === true || mark === 'true');
  return isUsable ? { email } : { cause: 'email_not_verified' };
}

/** The most powerful role that the claims give; null for none. */
export function roleOf(
  { roleClaim, roles: map }: Pick<IdentityProvider, 'roleClaim' | 'roles'>,
  claims: Values,
): Role | null {
  const values = [valueAt(claims, roleClaim)].flat();
  const given = map as Record<string, Role>;
  const granted = values.map((value) =>
    typeof value === 'string' && Object.hasOwn(given, value) ? given[value] : null,
  );
  return roles.find((role) => granted.includes(role)) ?? null;
}

/** Whether the provider left the claim for roles out because it has too many values (OpenID Connect Core, section 5.6.2). */
export function hasTooManyGroups(
  { roleClaim }: Pick<IdentityProvider, 'roleClaim'>,
  claims: Values,
): boolean {
  const { _claim_names: elsewhere } = claims;
  return isObject(elsewhere) && Object.hasOwn(elsewhere, roleClaim);
}

/** @param name of a claim, which may have dots itself, or a path such as `realm_access.roles`. */
function valueAt(claims: Values, name: string): unknown {
  if (Object.hasOwn(claims, name)) return claims[name];
  let value: unknown = claims;
  for (const part of name.split('.')) {
    if (!isObject(value) || !Object.hasOwn(value, part)) return undefined;
    value = value[part];
  }
  return value;
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null;
}
