import type { FastifyReply } from 'fastify';
import { z } from 'zod';
import type { ApiDependencies } from '#api/http/dependencies.ts';
import type { Api } from '#api/http/route.ts';
import { maxRefundColumns, setRefundColumns } from '#shared/organizations/organization-settings.ts';
import { findSentMetadata, maxSentKeys, setSentMetadata } from '#shared/processors/accounts/sent-metadata.ts';
import { processorKind } from '#shared/processors/registry.ts';
import { Fields } from '../../components/fields.tsx';
import { Form } from '../../components/form.tsx';
import { actingIn, contextOf, needs, useMember } from '../../http/access.ts';
import type { FormState } from '../../http/forms.ts';
import { pageNotFound } from '../../http/paths.ts';
import { changesOf } from '../../layout/changes.ts';
import { processorInPath } from './credentials.tsx';
import { SettingsFrame } from './settings-frame.tsx';

const accounts = '/settings/accounts';
const columnsPath = `${accounts}/columns`;
const sentPath = `${accounts}/:processor/metadata`;

/** A form with keys of metadata, which are entered with commas between them. */
const keysForm = (description: string) => {
  const split = (text: string) => text.split(',').flatMap((key) => key.trim() || []);
  const meta = { title: 'Metadata keys', description };
  return z.object({ keys: z.string().default('').transform(split).meta(meta) });
};
const columnsSchema = keysForm(
  `Up to ${maxRefundColumns}, separated by commas, such as order, customer, store. Leave empty to show order and customer.`,
);
const sentSchema = keysForm(
  `Up to ${maxSentKeys}, separated by commas, such as order_id, ticket. Leave empty to send none.`,
);

/** A form that shows the current keys. */
const formWith = (keys: readonly string[]) => ({ body: { keys: keys.join(', ') }, problems: {} });

/**
 * The forms that choose metadata of refunds: what their lists show, and what their processor gets.
 * @param showColumns responds with the page that has the form for the lists.
 */
export function metadataKeyPages(
  scope: Api,
  deps: ApiDependencies,
  showColumns: (reply: FastifyReply, form: FormState) => Promise<FastifyReply>,
): void {
  const change = changesOf(scope, accounts);
  const columns = { ...needs('admin'), schema: columnsSchema, again: showColumns };
  change(columnsPath, columns, 'columns-saved', (request, { keys }) =>
    setRefundColumns(deps, { ...actingIn(request), keys }),
  );

  scope.get(sentPath, needs('admin'), async (_request, reply) => {
    const { sentMetadataKeys } = await findSentMetadata(deps.db, keeperOf(reply));
    return showSent(reply, formWith(sentMetadataKeys));
  });

  const sent = { ...needs('admin', 'confirmed'), schema: sentSchema, again: showSent };
  change(sentPath, sent, 'sent-metadata-saved', (request, { keys }, reply) =>
    setSentMetadata(deps, { ...actingIn(request), ...keeperOf(reply), keys }),
  );
}

/** @param form as it was submitted; the current setting without it. */
export function RefundColumnsForm({ form }: { form: FormState | undefined }) {
  const { name, refundColumns } = useMember().organization;
  return (
    <Form to={columnsPath} title="Columns of refunds" submit="Save">
      <p>
        The list of refunds, the approvals and the search results show these values, for every member of{' '}
        {name}, in test and live.
      </p>
      <Fields schema={columnsSchema} form={form ?? formWith(refundColumns)} />
    </Form>
  );
}

/** @throws ServiceError not_found for a processor that keeps no metadata. */
function keeperOf({ request }: FastifyReply) {
  const processor = processorInPath(request);
  if (!processorKind(processor).keepsMetadata) throw pageNotFound();
  return { ...contextOf(request).owner, processor };
}

function showSent(reply: FastifyReply, form: FormState): FastifyReply {
  const { processor } = keeperOf(reply);
  const { displayName } = processorKind(processor);
  return reply.send(
    <SettingsFrame page="accounts" title={`Metadata sent to ${displayName}`}>
      <Form to={`${accounts}/${processor}/metadata`} submit="Save" form={form} cancel={accounts}>
        <p>
          {displayName} shows these values with each refund. Texts, numbers and booleans of up to 500
          characters are sent. They stay at {displayName} when the refund is erased here.
        </p>
        <Fields schema={sentSchema} form={form} />
      </Form>
    </SettingsFrame>,
  );
}
