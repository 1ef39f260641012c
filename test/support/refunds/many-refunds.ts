import type pg from 'pg';
import { fillLifelikeRefunds, type LifelikeRefunds } from './lifelike-refunds.ts';

/**
 * Fills an organization, which is made if need be, with refunds as years of use would leave them behind: every status, reason
 * and source, some flagged, several created in the same millisecond. The same call makes the same refunds. To be repeated
 * with other environments, and once per environment only.
 */
export async function fillRefunds(client: pg.Client, refunds: LifelikeRefunds): Promise<void> {
  const { organizationId, environment, now } = refunds;
  await client.query(`insert into organization (id, name) values ($1, 'Many') on conflict do nothing`, [
    organizationId,
  ]);
  await client.query(
    `insert into processor_account
       (id, organization_id, environment, processor, name, is_default, encrypted_credentials, encryption_key_id, updated_at)
     select 'acc_' || md5($1 || $2 || name), $1, $2::environment, name, name, true, '', 'none', $3
     from unnest(array['stripe', 'braintree']) as name`,
    [organizationId, environment, now],
  );
  await fillLifelikeRefunds(client, { ...refunds, createdEvery: '6 hours' });
}
