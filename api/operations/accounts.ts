import { z } from 'zod';
import { abilitiesOf, stateOf } from '#shared/processors/accounts/abilities.ts';
import { listUsableAccounts } from '#shared/processors/accounts/manage-accounts.ts';
import { abilities } from '#shared/processors/contract/processor.ts';
import { listOutput, wholeList } from './fields.ts';
import { operation } from './operation.ts';
import { refundAccountSchema } from './refund-schemas.ts';

const stateSchema = z.enum(['works', 'refused', 'unknown']);

const { id, name, connectedAccount } = refundAccountSchema.shape;

const accountSchema = z
  .object({
    ...{ id, name },
    processor: z.string().describe('The payment processor of the account.'),
    connectedAccount,
    abilities: z
      .object({
        readPayments: stateSchema,
        refund: stateSchema,
        cancel: stateSchema,
        list: stateSchema,
        disputes: stateSchema,
        webhooks: stateSchema,
      })
      .describe('What the credentials may do, as the answers of the processor show.'),
  })
  .meta({
    id: 'Account',
    description: 'An account at a processor, without its credentials.',
    examples: [
      {
        ...{
          id: 'acc_01kahw0c2qfz9vj3m8d6t5r4ye',
          name: 'shop-eu',
          processor: 'stripe',
          connectedAccount: null,
        },
        abilities: {
          ...({ readPayments: 'works', refund: 'works', cancel: 'unknown' } as const),
          ...({ list: 'works', disputes: 'works', webhooks: 'works' } as const),
        },
      },
    ],
  });

export const listAccounts = operation({
  id: 'listAccounts',
  route: 'GET /v1/accounts',
  scope: 'refunds:read',
  tag: 'Accounts',
  summary: 'List accounts',
  description:
    'The accounts in the environment of the key: those with credentials of their own, and the connected accounts that were used in the ' +
    'last 90 days, up to 1,000.',
  answer: 'The accounts.',
  output: listOutput(accountSchema, false),
  hasData: true,
  async run({ db }, { apiKey }) {
    const accounts = await listUsableAccounts(db, apiKey);
    return wholeList(accounts.map(toPublicAccount));
  },
});

function toPublicAccount(account: Awaited<ReturnType<typeof listUsableAccounts>>[number]) {
  const states = abilities.map((ability) => [ability, stateOf(abilitiesOf(account), ability)]);
  return {
    ...{
      id: account.id,
      name: account.name,
      processor: account.processor,
      connectedAccount: account.connectedAccount,
    },
    abilities: Object.fromEntries(states) as z.output<typeof accountSchema>['abilities'],
  };
}
