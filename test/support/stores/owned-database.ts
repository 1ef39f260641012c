import { randomBytes } from 'node:crypto';
import { madeBeforeTests } from '../made-before-tests.ts';
import { useEmptyDatabase } from './database.ts';
import { query } from './database-client.ts';

/** A database without tables as it is in production: of an owner who is no superuser, for a service that owns nothing. */
export interface OwnedDatabase {
  ownerUrl: string;
  /** Of a role that does not exist yet. */
  serviceUrl: string;
}

/** Gives a test file, or a `describe` block, such a database. */
export function useOwnedDatabase(): OwnedDatabase {
  const superuserUrl = useEmptyDatabase();
  return madeBeforeTests('The owned database', () => giveToOwner(superuserUrl()));
}

/** Makes such a database of an empty one. @param superuserUrl the database as a superuser. */
export async function giveToOwner(superuserUrl: string): Promise<OwnedDatabase> {
  const suffix = randomBytes(4).toString('hex');
  const ownerUrl = urlOf(superuserUrl, `owner_${suffix}`);
  const { username, password, pathname } = ownerUrl;
  await query(
    superuserUrl,
    `CREATE ROLE ${username} LOGIN CREATEROLE PASSWORD '${password}';
       ALTER DATABASE "${pathname.slice(1)}" OWNER TO ${username}`,
  );
  return { ownerUrl: ownerUrl.href, serviceUrl: urlOf(superuserUrl, `service_${suffix}`).href };
}

function urlOf(databaseUrl: string, username: string): URL {
  const url = new URL(databaseUrl);
  url.username = username;
  url.password = randomBytes(12).toString('hex');
  return url;
}
