import type { FastifyRequest } from 'fastify';
import { z } from 'zod';
import type { ApiDependencies } from '#api/http/dependencies.ts';
import type { Api } from '#api/http/route.ts';
import { readStrictJson } from '#api/http/strict-json.ts';
import {
  digestCustomerTexts,
  findCustomerTexts,
  setCustomerTexts,
} from '#shared/organizations/customer-texts.ts';
import { ServiceError } from '#shared/platform/errors.ts';
import { type CustomerTexts, maxOwnLanguages } from '#shared/refunds/model/customer-texts.ts';
import { ButtonLink } from '../../components/button.tsx';
import { Form, HiddenFields, useSubmitted } from '../../components/form.tsx';
import { TextAreaField } from '../../components/inputs.tsx';
import { actingIn, confirmed, contextOf } from '../../http/access.ts';
import { entered } from '../../http/forms.ts';
import { page } from '../../http/page.ts';
import { SettingsFrame } from './settings-frame.tsx';

const path = '/settings/customer-texts';
const schema = z.object({ texts: z.string().default(''), basedOn: z.string().default('') });
const conflict = 'Someone else changed the texts. Reload and try again.';

/** `/settings/customer-texts`: what the page of a refund and the API offer to send to the customer. */
export function customerTextPages(scope: Api, deps: ApiDependencies): void {
  // Customers may act on it.
  const admin = confirmed('admin');
  const read = async (request: FastifyRequest) => ({
    texts: await findCustomerTexts(deps.db, contextOf(request).organization.id),
  });
  page<CustomerTextsPageProps>(scope, path, admin, read, CustomerTextsPage).form(
    path,
    admin,
    schema,
    async (request, { texts, basedOn }, reply) => {
      const change = { ...actingIn(request), basedOn, texts: readTexts(texts) };
      if ((await setCustomerTexts(deps, change)) === 'saved') return 'customer-texts-saved';
      reply.code(409);
      request.submitted = { body: request.body, problems: { form: conflict } };
      return { isStale: true };
    },
  );
}

function readTexts(json: string): unknown {
  if (json.trim() === '') return {};
  const reading = readStrictJson(json, () => 'must have texts, not numbers');
  if (reading.kind === 'valid') return reading.value;
  throw new ServiceError('validation_error', `texts: ${reading.problem}`);
}

interface CustomerTextsPageProps {
  /** In force. */
  texts: CustomerTexts;
  /** True when they are not those that the form was shown with. */
  isStale?: boolean;
}

function CustomerTextsPage({ texts, isStale = false }: CustomerTextsPageProps) {
  const submitted = useSubmitted(path);
  const basedOn = submitted === null ? digestCustomerTexts(texts) : entered(submitted.body, 'basedOn');
  return (
    <SettingsFrame page="customer-texts">
      <Form to={path} submit="Save" initial={{ texts: JSON.stringify(texts, null, 2) }}>
        <HiddenFields values={{ basedOn }} />
        {isStale ? (
          <div>
            <ButtonLink to={path}>Reload</ButtonLink>
          </div>
        ) : null}
        <p>
          Members copy this message from the page of a refund; the API returns it with{' '}
          <code>include=message</code>. It applies to test and live.
        </p>
        <TextAreaField
          name="texts"
          label="Texts by language"
          hint={`JSON, with up to ${maxOwnLanguages} languages of your own. en, de, fr and es have the service's texts unless you change them. Another language that you remove is no longer offered.`}
          class="mono"
          rows={24}
          spellcheck={false}
        />
      </Form>
    </SettingsFrame>
  );
}
