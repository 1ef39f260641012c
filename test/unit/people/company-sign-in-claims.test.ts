import { expect, test } from 'vitest';
import {
  addressIn,
  hasTooManyGroups,
  needsUserInfo,
  roleOf,
  withUserInfo,
} from '#shared/people/company-sign-in/claims.ts';
import { authenticateClient, requireOneTenant } from '#shared/people/company-sign-in/metadata.ts';

const email = 'kim@example.com';
const claimsOf = (claims: object) => claims as Parameters<typeof addressIn>[1];

test.each([
  [{ email_verified: true }, 'counts', 'counts'],
  [{ email_verified: 'true' }, 'counts', 'counts'],
  [{ xms_edov: true }, 'counts', 'counts'],
  [{}, 'email_not_verified', 'counts'],
  [{ email_verified: false }, 'email_not_verified', 'email_not_verified'],
  [{ email_verified: 'false' }, 'email_not_verified', 'email_not_verified'],
  [{ email_verified: null }, 'email_not_verified', 'email_not_verified'],
  [{ xms_edov: false }, 'email_not_verified', 'email_not_verified'],
  [{ email_verified: true, xms_edov: false }, 'email_not_verified', 'email_not_verified'],
])('an address with %j %s, and where unverified ones are accepted %s', (marks, strict, accepting) => {
  const outcomes = [false, true].map((acceptsUnverified) => {
    const address = addressIn({ acceptsUnverified }, claimsOf({ email, ...marks }));
    return 'cause' in address ? address.cause : 'counts';
  });
  expect(outcomes).toEqual([strict, accepting]);
});

test.each([
  ['groups', { groups: ['support', 'admins'] }, 'admin'],
  ['groups', { groups: 'support' }, 'operator'],
  ['realm_access.roles', { realm_access: { roles: ['support'] } }, 'operator'],
  ['https://example.com/roles', { 'https://example.com/roles': ['admins'] }, 'admin'],
  ['a.b', { 'a.b': ['admins'], a: { b: ['support'] } }, 'admin'],
  ['realm_access.roles', { realm_access: null }, null],
  ['constructor.name', {}, null],
  ['groups', { groups: ['constructor', 7, null] }, null],
])('the claim %s of %j gives the role %s', (roleClaim, claims, role) => {
  expect(roleOf({ roleClaim, roles: { admins: 'admin', support: 'operator' } }, claims)).toBe(role);
});

test('UserInfo is needed for a claim that the token lacks, and not for groups that no answer has', () => {
  const provider = { roleClaim: 'groups' };
  const whole = { email, email_verified: false, groups: [] };
  expect(needsUserInfo(provider, whole)).toBe(false);
  for (const name of Object.keys(whole)) {
    expect(needsUserInfo(provider, { ...whole, [name]: undefined }), name).toBe(true);
  }
  const { groups: _, ...overage } = { ...whole, _claim_names: { groups: 'src1' } };
  expect([hasTooManyGroups(provider, overage), needsUserInfo(provider, overage)]).toEqual([true, false]);
  expect(hasTooManyGroups({ roleClaim: 'roles' }, overage)).toBe(false);
});

test('what UserInfo says of another address does not verify that of the token', () => {
  const userInfo = { sub: 'sub', email: 'other@example.com', email_verified: true, groups: ['support'] };
  const claims = withUserInfo(claimsOf({ sub: 'sub', email }), userInfo);
  expect(claims).toEqual({ sub: 'sub', email, groups: ['support'] });
  expect(withUserInfo(claimsOf({ sub: 'sub', email }), { ...userInfo, email })).toMatchObject({
    email_verified: true,
  });
});

test.each([
  [undefined, 'basic'],
  [['client_secret_post', 'client_secret_basic'], 'basic'],
  [['client_secret_post', 'private_key_jwt'], 'post'],
  [['private_key_jwt'], 'no_shared_method'],
])('a client of a provider with the methods %j uses %s', (methods, expected) => {
  const [body, headers] = [new URLSearchParams(), new Headers()];
  const metadata = {
    issuer: 'https://idp.example',
    ...(methods && { token_endpoint_auth_methods_supported: methods }),
  };
  let used: unknown;
  try {
    authenticateClient('secret')(metadata, { client_id: 'refunds' }, body, headers);
    used = headers.has('authorization') ? 'basic' : body.get('client_secret') && 'post';
  } catch (error) {
    used = (error as { cause?: unknown }).cause;
  }
  expect(used).toBe(expected);
});

test('an issuer that stands for many tenants is refused, because each of them decides which addresses its accounts have', () => {
  const issuer = 'https://login.microsoftonline.com/{tenantid}/v2.0';
  expect(() => requireOneTenant({ issuer })).toThrow(expect.objectContaining({ cause: 'many_tenants' }));
  requireOneTenant({ issuer: issuer.replace('{tenantid}', '6f1c0b0e') });
});
