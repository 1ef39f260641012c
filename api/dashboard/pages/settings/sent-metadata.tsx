import type { FastifyReply } from 'fastify';
import type { ApiDependencies } from '#api/http/dependencies.ts';
import type { Api } from '#api/http/route.ts';
import { findSentMetadata, maxSentKeys, setSentMetadata } from '#shared/processors/accounts/sent-metadata.ts';
import { processorKind } from '#shared/processors/registry.ts';
import { Fields } from '../../components/fields.tsx';
import { Form } from '../../components/form.tsx';
import { actingIn, contextOf, needs } from '../../http/access.ts';
import type { FormState } from '../../http/forms.ts';
import { pageNotFound } from '../../http/paths.ts';
import { sendPage } from '../../http/render.ts';
import { changesOf } from '../../layout/changes.ts';
import { processorInPath } from './credentials.tsx';
import { metadataKeysForm } from './metadata-keys.ts';
import { SettingsFrame } from './settings-frame.tsx';

const accounts = '/settings/accounts';
const path = `${accounts}/:processor/metadata`;
const schema = metadataKeysForm(
  `Up to ${maxSentKeys}, separated by commas, such as order_id, ticket. Leave empty to send none.`,
);

/** `/settings/accounts/<processor>/metadata`: what of a refund's metadata its processor gets. */
export function sentMetadataPages(scope: Api, deps: ApiDependencies): void {
  scope.get(path, needs('admin'), async (_request, reply) => {
    const { sentMetadataKeys } = await findSentMetadata(deps.db, keeperOf(reply));
    return show(reply, { body: { keys: sentMetadataKeys.join(', ') }, problems: {} });
  });

  const saving = { ...needs('admin', 'confirmed'), schema, again: show };
  changesOf(scope, accounts)(path, saving, 'sent-metadata-saved', (request, { keys }, reply) =>
    setSentMetadata(deps, { ...actingIn(request), ...keeperOf(reply), keys }),
  );
}

/** @throws ServiceError not_found for a processor that keeps no metadata. */
function keeperOf({ request }: FastifyReply) {
  const processor = processorInPath(request);
  if (!processorKind(processor).capabilities.keepsMetadata) throw pageNotFound();
  return { ...contextOf(request).owner, processor };
}

function show(reply: FastifyReply, form: FormState): FastifyReply {
  const { processor } = keeperOf(reply);
  const { displayName } = processorKind(processor);
  const { base } = contextOf(reply.request);
  return sendPage(
    reply,
    <SettingsFrame page="accounts" title={`Metadata sent to ${displayName}`}>
      <Form to={`${accounts}/${processor}/metadata`} submit="Save" form={form} cancel={`${base}${accounts}`}>
        <p>
          {displayName} shows these values with each refund. Texts, numbers and booleans of up to 500
          characters are sent. They stay at {displayName} when the refund is erased here.
        </p>
        <Fields schema={schema} form={form} />
      </Form>
    </SettingsFrame>,
  );
}
