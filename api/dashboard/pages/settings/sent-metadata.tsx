import type { FastifyReply, FastifyRequest } from 'fastify';
import { z } from 'zod';
import type { ApiDependencies } from '#api/http/dependencies.ts';
import type { Api } from '#api/http/route.ts';
import { findSentMetadata, maxSentKeys, setSentMetadata } from '#shared/processors/accounts/sent-metadata.ts';
import { processorKind } from '#shared/processors/registry.ts';
import { Fields } from '../../components/fields.tsx';
import { Form, type FormState } from '../../components/form.tsx';
import { contextOf } from '../../http/access.ts';
import { readChoices, validationProblemsOf } from '../../http/forms.ts';
import { pageNotFound } from '../../http/paths.ts';
import { sendPage } from '../../http/render.ts';
import { doneAt } from '../../layout/done.tsx';
import { processorInPath } from './credentials.tsx';
import { SettingsFrame } from './settings-frame.tsx';

const path = '/settings/accounts/:processor/metadata';
const formSchema = z.object({
  keys: z
    .string()
    .default('')
    .transform((text) => text.split(',').flatMap((key) => key.trim() || []))
    .meta({
      title: 'Metadata keys',
      description: `Up to ${maxSentKeys}, separated by commas, such as order_id, ticket. Leave empty to send none.`,
    }),
});

/** `/settings/accounts/<processor>/metadata`: what of a refund's metadata its processor gets. */
export function sentMetadataPages(scope: Api, deps: ApiDependencies): void {
  scope.get(path, { config: { role: 'admin' } }, async (request, reply) => {
    const { owner } = contextOf(request);
    const { sentMetadataKeys } = await findSentMetadata(deps.db, {
      ...owner,
      processor: keeperInPath(request),
    });
    return show(request, reply, { body: { keys: sentMetadataKeys.join(', ') }, problems: {} });
  });

  scope.post(path, { config: { role: 'admin', confirm: true } }, async (request, reply) => {
    const { owner, actor, base } = contextOf(request);
    const { keys } = readChoices(formSchema, request.body);
    try {
      await setSentMetadata(deps, { ...owner, processor: keeperInPath(request), keys, actor });
    } catch (error) {
      const problems = validationProblemsOf(error, ['keys']);
      return show(request, reply.code(400), { body: request.body, problems });
    }
    return reply.redirect(doneAt(`${base}/settings/accounts`, 'sent-metadata-saved'), 303);
  });
}

/** @throws ServiceError not_found for a processor that keeps no metadata. */
function keeperInPath(request: FastifyRequest): string {
  const processor = processorInPath(request);
  if (processorKind(processor).capabilities.keepsMetadata) return processor;
  throw pageNotFound();
}

function show(request: FastifyRequest, reply: FastifyReply, form: FormState): FastifyReply {
  const context = contextOf(request);
  const processor = keeperInPath(request);
  const { displayName } = processorKind(processor);
  const accounts = `${context.base}/settings/accounts`;
  return sendPage(
    reply,
    <SettingsFrame context={context} page="accounts" title={`Metadata sent to ${displayName}`}>
      <Form
        csrfToken={context.csrfToken}
        to={`${accounts}/${processor}/metadata`}
        submit="Save"
        form={form}
        cancel={accounts}
      >
        <p>
          {displayName} shows these values with each refund. Texts, numbers and booleans of up to 500
          characters are sent. They stay at {displayName} when the refund is erased here.
        </p>
        <Fields schema={formSchema} form={form} />
      </Form>
    </SettingsFrame>,
  );
}
