import type { FastifyRequest } from 'fastify';
import { z } from 'zod';
import type { ApiDependencies } from '#api/http/dependencies.ts';
import type { Api } from '#api/http/route.ts';
import { maxRefundColumns } from '#shared/organizations/organization-settings.ts';
import { findAccount } from '#shared/processors/accounts/account.ts';
import { maxSentKeys, setSentMetadata } from '#shared/processors/accounts/sent-metadata.ts';
import { processorKind } from '#shared/processors/registry.ts';
import { Form } from '../../components/form.tsx';
import { actingIn, confirmed, contextOf, useMember } from '../../http/access.ts';
import { leadTo, page } from '../../http/page.ts';
import { pageNotFound } from '../../http/paths.ts';
import { processorInPath } from './credentials.tsx';
import { SettingsFrame } from './settings-frame.tsx';

const accounts = '/settings/accounts';
export const columnsPath = `${accounts}/columns`;
const sentPath = `${accounts}/:processor/metadata`;

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

/** `/settings/accounts/<processor>/metadata`: what the processor gets of the metadata of refunds. */
export function sentMetadataPage(scope: Api, deps: ApiDependencies): void {
  const read = async (request: FastifyRequest) => {
    const { sentMetadataKeys } = await findAccount(deps.db, keeperOf(request));
    return { processor: processorInPath(request), sentMetadataKeys };
  };
  const save = confirmed('admin');
  page(scope, sentPath, 'admin', read, SentMetadata).form(
    sentPath,
    save,
    sentSchema,
    async (request, { keys }) => {
      await setSentMetadata(deps, { ...actingIn(request), ...keeperOf(request), keys });
      return leadTo(accounts, 'sent-metadata-saved');
    },
  );
}

/** @throws ServiceError not_found for a processor that keeps no metadata. */
function keeperOf(request: FastifyRequest) {
  const processor = processorInPath(request);
  if (!processorKind(processor).keepsMetadata) throw pageNotFound();
  return { ...contextOf(request).owner, processor };
}

function SentMetadata({ processor, sentMetadataKeys }: { processor: string; sentMetadataKeys: string[] }) {
  const { displayName } = processorKind(processor);
  return (
    <SettingsFrame page="accounts" title={`Metadata sent to ${displayName}`}>
      <Form
        to={`${accounts}/${processor}/metadata`}
        submit="Save"
        cancel={accounts}
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
