// What an error of PostgreSQL, of a pooler or of the way there says about them. It imports nothing, so that the log of any program can use it.

const troubles: readonly (readonly [RegExp, string])[] = [
  [/\b28P01\b/, 'PostgreSQL refuses the user or the password in DATABASE_URL.'],
  [
    /\b28000\b/,
    'PostgreSQL does not let this user connect from here: allow it in pg_hba.conf, or connect with TLS.',
  ],
  [
    /\b3D000\b|no such database/i,
    'The database in DATABASE_URL does not exist: create it, or correct its name.',
  ],
  [
    /\b(P2021|42P01)\b/,
    'The tables do not exist yet: run the migration (npm run db:migrate, or node dist/prisma/migrate-main.js in production).',
  ],
  [/\b(53300|P2037)\b/, 'PostgreSQL has no connection left: raise max_connections, or run fewer processes.'],
  [/\b53100\b/, 'The disk of PostgreSQL is full: free space.'],
  [/\b25006\b/, 'This PostgreSQL is a read-only replica: set DATABASE_URL to the primary.'],
  [/\b57P03\b/, 'PostgreSQL is starting or stopping.'],
  [
    /unsupported startup parameter/i,
    'PgBouncer refuses a setting of the connection: set ignore_startup_parameters, as docs/operations/deployment.md says.',
  ],
  [
    /server login has been failing|pgbouncer cannot connect/i,
    'PgBouncer has no connection to PostgreSQL: read its log.',
  ],
  [
    /SELF_SIGNED_CERT|UNABLE_TO_GET_ISSUER_CERT|UNABLE_TO_VERIFY_LEAF_SIGNATURE/,
    'The certificate of the server is from an unknown authority: name its file in NODE_EXTRA_CA_CERTS.',
  ],
  [/CERT_HAS_EXPIRED/, 'The certificate of the server has expired: renew it.'],
  [
    /ERR_TLS_CERT_ALTNAME_INVALID/,
    'The certificate of the server is for another host name: connect by the name that it has.',
  ],
  [/does not support SSL/i, 'The server offers no TLS, which the URL requires: switch it on there.'],
  [/ENOTFOUND|EAI_AGAIN/, 'The host name cannot be resolved: correct it, or the name servers.'],
  [
    /ECONNREFUSED|ETIMEDOUT|EHOSTUNREACH|ENETUNREACH|DatabaseNotReachable|timeout exceeded when trying to connect/i,
    'Nothing answers at this address: start the server, or correct host, port and firewalls.',
  ],
];

/**
 * What is wrong with PostgreSQL or on the way to a store, and what to do, in a sentence; null for anything else.
 * @param texts codes and messages of an error and its causes.
 */
export function databaseTroubleOf(texts: readonly string[]): string | null {
  return troubles.find(([pattern]) => texts.some((text) => pattern.test(text)))?.[1] ?? null;
}
