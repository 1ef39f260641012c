import type { FastifyRequest } from 'fastify';
import { z } from 'zod';
import type { ApiDependencies } from '#api/http/dependencies.ts';
import type { Api } from '#api/http/route.ts';
import { findCustomerTexts, setCustomerTexts } from '#shared/organizations/customer-texts.ts';
import { type CustomerTexts, maxOwnLanguages } from '#shared/refunds/model/customer-texts.ts';
import { Form } from '../../components/form.tsx';
import { TextAreaField } from '../../components/inputs.tsx';
import { actingIn, confirmed, contextOf, useMember } from '../../http/access.ts';
import { page } from '../../http/page.ts';
import { SettingsFrame } from './settings-frame.tsx';

const path = '/settings/customer-texts';
const schema = z.object({ texts: z.string().default('') });

/** `/settings/customer-texts`: what the page of a refund and the API offer to send to the customer. */
export function customerTextPages(scope: Api, deps: ApiDependencies): void {
  const read = async (request: FastifyRequest) => ({
    texts: await findCustomerTexts(deps.db, contextOf(request).organization.id),
  });
  page(scope, path, 'admin', read, CustomerTextsPage).form(
    path,
    // Customers may act on it.
    confirmed('admin'),
    schema,
    async (request, { texts }) => {
      await setCustomerTexts(deps, { ...actingIn(request), json: texts });
      return 'customer-texts-saved';
    },
  );
}

function CustomerTextsPage({ texts }: { texts: CustomerTexts }) {
  return (
    <SettingsFrame page="customer-texts">
      <Form to={path} submit="Save" initial={{ texts: JSON.stringify(texts, null, 2) }}>
        <p>
          The page of a refund shows this message to {useMember().organization.name}'s customers, in test and
          live, and the API adds it with <code>include=message</code>.
        </p>
        <TextAreaField
          name="texts"
          label="Texts by language"
          hint={`JSON, with up to ${maxOwnLanguages} languages of your own. Languages that you remove or leave unchanged have the texts of the service.`}
          class="mono"
          rows={24}
          spellcheck={false}
        />
      </Form>
    </SettingsFrame>
  );
}
