/** Who signs in at the provider. */
export interface CompanyAccount {
  sub: string;
  email: string;
  /** Left out of all claims when it is null. */
  email_verified: boolean | null;
  groups: string[];
}

type ClaimsOf = (account: CompanyAccount, scopes: ReadonlySet<string>) => Record<string, unknown>;

/** How a provider behaves with its defaults, and what an organization that uses it enters. */
export interface ProviderKind {
  name: string;
  /** Where its documents, or its source, say so. */
  sources: readonly string[];
  /** What follows the host in its issuer. */
  path?: string;
  /** `token_endpoint_auth_methods_supported`. */
  methods?: readonly string[];
  /** The only method that it accepts of the client; each one unless given. */
  registered?: string;
  algorithm?: 'RS256' | 'ES256';
  /** Claims of the ID token, beside those of every token. */
  idToken: ClaimsOf;
  userInfo?: ClaimsOf;
  /** When it says `auth_time`, having asked for a new sign-in. */
  signInTime: 'always' | 'when asked' | 'never';
  settings: { scopes?: string; roleClaim: string; acceptsUnverified?: boolean };
}

const emailOf: ClaimsOf = ({ email, email_verified: isVerified }, scopes) =>
  scopes.has('email') ? { email, ...(isVerified !== null && { email_verified: isVerified }) } : {};

const groupsOf: ClaimsOf = ({ groups }, scopes) => (scopes.has('groups') ? { groups } : {});

/** The least that the specification asks for: no method is named, and ES256 is the only algorithm. */
export const plainProvider: ProviderKind = {
  name: 'a plain provider',
  sources: ['https://openid.net/specs/openid-connect-core-1_0.html'],
  algorithm: 'ES256',
  idToken: (account, scopes) => ({ ...emailOf(account, scopes), groups: account.groups }),
  signInTime: 'when asked',
  settings: { roleClaim: 'groups' },
};

/** The most groups that Entra ID puts into a token. */
export const mostGroupsOfEntra = 200;

export const providerKinds: readonly ProviderKind[] = [
  {
    name: 'Entra ID',
    sources: [
      'https://learn.microsoft.com/entra/identity-platform/optional-claims-reference',
      'https://learn.microsoft.com/entra/identity-platform/id-token-claims-reference',
      'https://learn.microsoft.com/azure/active-directory/hybrid/how-to-connect-fed-group-claims',
    ],
    path: '/6f1c0b0e-7d1a-4c35-9a51-0a4a5f0c2b11/v2.0',
    methods: ['client_secret_post', 'private_key_jwt', 'client_secret_basic'],
    // It never says email_verified. More groups than fit are at Microsoft Graph.
    idToken: ({ email, groups }, scopes) => ({
      ...(scopes.has('email') && { email }),
      ...(groups.length > mostGroupsOfEntra
        ? {
            _claim_names: { groups: 'src1' },
            _claim_sources: { src1: { endpoint: 'https://graph.windows.net/users' } },
          }
        : { groups }),
    }),
    userInfo: ({ email }) => ({ email }),
    // An optional claim, which is not among the defaults.
    signInTime: 'never',
    settings: { roleClaim: 'groups', acceptsUnverified: true },
  },
  {
    name: 'Google',
    sources: [
      'https://developers.google.com/identity/openid-connect/reference',
      'https://dev.to/googleworkspace/google-oidc-and-prompt-login-4d5o',
    ],
    methods: ['client_secret_post', 'client_secret_basic'],
    // It has no claim of groups: the domain of a Workspace account decides.
    idToken: (account, scopes) => ({ ...emailOf(account, scopes), hd: account.groups[0] }),
    userInfo: emailOf,
    signInTime: 'never',
    settings: { roleClaim: 'hd' },
  },
  {
    name: 'Okta',
    sources: [
      'https://help.okta.com/en-us/Content/topics/security/api-config-claims.htm',
      'https://developer.okta.com/docs/guides/customize-tokens-groups-claim/',
    ],
    methods: ['client_secret_basic', 'client_secret_post', 'client_secret_jwt', 'private_key_jwt', 'none'],
    registered: 'client_secret_basic',
    // What the scopes give is at UserInfo when there is an access token.
    idToken: () => ({}),
    userInfo: (account, scopes) => ({ ...emailOf(account, scopes), ...groupsOf(account, scopes) }),
    signInTime: 'always',
    settings: { scopes: 'openid email profile groups', roleClaim: 'groups' },
  },
  {
    name: 'Auth0',
    sources: [
      'https://auth0.com/docs/secure/tokens/id-tokens/id-token-structure',
      'https://auth0.com/docs/secure/tokens/json-web-tokens/create-custom-claims',
      'https://auth0.com/docs/authenticate/login/max-age-reauthentication',
    ],
    path: '/',
    methods: ['client_secret_basic', 'client_secret_post', 'private_key_jwt'],
    // Roles are a claim with the name of an address, which an Action adds.
    idToken: (account, scopes) => ({
      ...emailOf(account, scopes),
      'https://refunds.example.com/roles': account.groups,
    }),
    userInfo: emailOf,
    signInTime: 'when asked',
    settings: { roleClaim: 'https://refunds.example.com/roles' },
  },
  {
    name: 'Keycloak',
    sources: [
      'https://www.keycloak.org/docs/latest/server_admin/#_protocol-mappers',
      'https://github.com/keycloak/keycloak/blob/main/services/src/main/java/org/keycloak/protocol/oidc/OIDCLoginProtocolFactory.java',
    ],
    path: '/realms/company',
    methods: [
      ...['private_key_jwt', 'client_secret_basic', 'client_secret_post', 'tls_client_auth'],
      'client_secret_jwt',
    ],
    // Its mapper of realm roles serves the access token alone until "Add to userinfo" is on.
    idToken: emailOf,
    userInfo: (account, scopes) => ({
      ...emailOf(account, scopes),
      realm_access: { roles: ['offline_access', ...account.groups] },
    }),
    signInTime: 'always',
    settings: { roleClaim: 'realm_access.roles' },
  },
  {
    name: 'Cognito',
    sources: [
      'https://docs.aws.amazon.com/cognito/latest/developerguide/amazon-cognito-user-pools-using-the-id-token.html',
      'https://docs.aws.amazon.com/cognito/latest/developerguide/userinfo-endpoint.html',
    ],
    path: '/eu-central-1_Example',
    methods: ['client_secret_basic', 'client_secret_post'],
    idToken: (account, scopes) => ({
      ...emailOf(account, scopes),
      'cognito:groups': account.groups,
      token_use: 'id',
    }),
    // Attributes are texts there.
    userInfo: ({ email, email_verified: isVerified }) => ({ email, email_verified: String(isVerified) }),
    signInTime: 'always',
    settings: { roleClaim: 'cognito:groups' },
  },
  {
    name: 'Authelia',
    sources: ['https://www.authelia.com/integration/openid-connect/openid-connect-1.0-claims/'],
    methods: ['client_secret_basic', 'client_secret_post', 'client_secret_jwt', 'private_key_jwt', 'none'],
    registered: 'client_secret_basic',
    idToken: () => ({}),
    userInfo: (account, scopes) => ({ ...emailOf(account, scopes), ...groupsOf(account, scopes) }),
    signInTime: 'always',
    settings: { scopes: 'openid email profile groups', roleClaim: 'groups' },
  },
  {
    name: 'GitLab',
    sources: ['https://docs.gitlab.com/integration/openid_connect_provider/'],
    methods: ['client_secret_basic', 'client_secret_post'],
    // Groups that a member belongs to through another group are at UserInfo alone.
    idToken: (account, scopes) => ({ ...emailOf(account, scopes), groups_direct: [] }),
    userInfo: (account, scopes) => ({ ...emailOf(account, scopes), groups: account.groups }),
    signInTime: 'always',
    settings: { roleClaim: 'groups' },
  },
];
