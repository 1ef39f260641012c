import type { FastifyRequest } from 'fastify';
import { z } from 'zod';
import type { ApiDependencies } from '#api/http/dependencies.ts';
import type { Api } from '#api/http/route.ts';
import { maxRefundColumns } from '#shared/organizations/organization-settings.ts';
import type { AccountName } from '#shared/processors/accounts/account.ts';
import { maxSentKeys, setSentMetadata } from '#shared/processors/accounts/sent-metadata.ts';
import { processorKind } from '#shared/processors/registry.ts';
import { Form } from '../../components/form.tsx';
import { actingIn, confirmed, useMember } from '../../http/access.ts';
import { leadTo, page } from '../../http/page.ts';
import { accountsPath, pageNotFound } from '../../http/paths.ts';
import { ownAccountInPath } from './account-in-path.ts';
import { SettingsFrame } from './settings-frame.tsx';

export const columnsPath = `${accountsPath}/columns`;
const sentPath = `${accountsPath}/:accountId/metadata`;

/** A form with keys of metadata, which are entered with commas between them. */
const keysForm = (description: string) => {
  const split = (text: string) => text.split(',').flatMap((key) => key.trim() || []);
  const meta = { title: 'Metadata keys', description };
  return z.object({ keys: z.string().default('').transform(split).meta(meta) });
};
export const columnsSchema = keysForm(
  `Up to ${maxRefundColumns}, separated by commas, such as order, customer, store. Leave empty to show order and customer.`,
);
const sentSchema = keysForm(
  `Up to ${maxSentKeys}, separated by commas, such as order_id, ticket. Leave empty to send none.`,
);

const enteredKeys = (keys: readonly string[]) => ({ keys: keys.join(', ') });

/** The form for what lists of refunds show of the metadata. */
export function RefundColumnsForm() {
  const { name, refundColumns } = useMember().organization;
  return (
    <Form
      to={columnsPath}
      title="Columns of refunds"
      submit="Save"
      schema={columnsSchema}
      initial={enteredKeys(refundColumns)}
    >
      <p>
        The list of refunds, the approvals and the search results show these values, for every member of{' '}
        {name}, in test and live.
      </p>
    </Form>
  );
}

/** `/settings/accounts/<id>/metadata`: what the processor gets of the metadata of refunds. */
export function sentMetadataPage(scope: Api, deps: ApiDependencies): void {
  const read = async (request: FastifyRequest) => ({ account: await keeperInPath(deps, request) });
  const save = confirmed('admin');
  page(scope, sentPath, 'admin', read, SentMetadata).form(
    sentPath,
    save,
    sentSchema,
    async (request, { keys }) => {
      const { id, processor, name } = await keeperInPath(deps, request);
      await setSentMetadata(deps, { ...actingIn(request), processor, name, keys });
      return leadTo(`${accountsPath}/${id}`, 'sent-metadata-saved');
    },
  );
}

/** @throws ServiceError not_found for an account at a processor that keeps no metadata. */
async function keeperInPath(deps: ApiDependencies, request: FastifyRequest): Promise<AccountName> {
  const account = await ownAccountInPath(deps, request);
  if (processorKind(account.processor).keepsMetadata) return account;
  throw pageNotFound();
}

function SentMetadata({ account: { id, name, processor, sentMetadataKeys } }: { account: AccountName }) {
  const { displayName } = processorKind(processor);
  return (
    <SettingsFrame page="accounts" title={`Metadata sent with refunds of ${name}`}>
      <Form
        to={`${accountsPath}/${id}/metadata`}
        submit="Save"
        cancel={`${accountsPath}/${id}`}
        schema={sentSchema}
        initial={enteredKeys(sentMetadataKeys)}
      >
        <p>
          {displayName} shows these values with each refund. Texts, numbers and booleans of up to 500
          characters are sent. They stay at {displayName} when the refund is erased here.
        </p>
      </Form>
    </SettingsFrame>
  );
}
