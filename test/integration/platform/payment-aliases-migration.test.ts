import { cpSync } from 'node:fs';
import { expect, test } from 'vitest';
import { migrate } from '../../../prisma/migrate.ts';
import { prismaFolder, readMigrations } from '../../../prisma/migrations-folder.ts';
import { useTemporaryFolder } from '../../support/processes/temporary-folder.ts';
import { useEmptyDatabase } from '../../support/stores/database.ts';
import { query } from '../../support/stores/database-client.ts';

const added = '20261123010100_payment_aliases';
const url = useEmptyDatabase();
const inFolder = useTemporaryFolder();

test('the migration to payment aliases keeps the refunds of a database that has some', async () => {
  for (const { name } of readMigrations().filter(({ name }) => name < added)) {
    cpSync(`${prismaFolder}/migrations/${name}`, inFolder('migrations', name), { recursive: true });
  }
  await migrate(url(), { folder: inFolder() });
  await query(
    url(),
    `insert into organization (id, name) values ('org_a', 'A');
     insert into processor_account (id, organization_id, environment, processor, encrypted_credentials, encryption_key_id, updated_at)
       values ('acct_a', 'org_a', 'test', 'stripe', '', 'k1', now());
     insert into payment (organization_id, environment, processor, transaction_id, amount, currency, charged_at, reserved, fetched_at)
       select 'org_a', 'test', 'stripe', id, 100, 'usd', now(), 60, now() from unnest(array['ch_1', 'pi_1']) as id;
     insert into refund (id, organization_id, environment, transaction_id, processor, amount, currency, reason, status,
         initiated_by, created_at, updated_at)
       select 'ref_' || n, 'org_a', 'test', id, 'stripe', 60, 'usd', 'other', 'pending', 'api', now(), now()
       from unnest(array['ch_1', 'pi_1']) with ordinality as each(id, n)`,
  );

  expect(await migrate(url())).toContain(added);

  expect(await query(url(), 'select id, transaction_id, payment_id from refund order by id')).toEqual([
    { id: 'ref_1', transaction_id: 'ch_1', payment_id: 'ch_1' },
    { id: 'ref_2', transaction_id: 'pi_1', payment_id: 'pi_1' },
  ]);
  const payments = 'select transaction_id, alias_of, amount, reserved, fetched_at from payment order by 1';
  expect(await query(url(), payments)).toEqual([
    { transaction_id: 'ch_1', alias_of: null, amount: '100', reserved: '60', fetched_at: null },
    { transaction_id: 'pi_1', alias_of: null, amount: '100', reserved: '60', fetched_at: null },
  ]);
});
