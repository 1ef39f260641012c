import type { FastifyRequest } from 'fastify';
import type { ApiDependencies } from '#api/http/dependencies.ts';
import { findCustomerTexts } from '#shared/organizations/customer-texts.ts';
import { customerMessages } from '#shared/refunds/model/customer-message.ts';
import type { RefundWithWork } from '#shared/refunds/model/refund.ts';
import { Link } from '../../components/button.tsx';
import { Card } from '../../components/card.tsx';
import { CopyButton } from '../../components/values.tsx';
import { contextOf } from '../../http/access.ts';
import { entered } from '../../http/forms.ts';

/** What the page offers to tell the customer, in the language of its address. */
export interface ShownMessage {
  language: string;
  text: string;
  /** All of them. */
  languages: readonly string[];
}

const languageNames = new Intl.DisplayNames('en', { type: 'language' });

/** The message about a refund, in English unless the address names another language; null for none. */
export async function readMessage(
  { db }: Pick<ApiDependencies, 'db'>,
  request: FastifyRequest,
  refund: RefundWithWork,
): Promise<ShownMessage | null> {
  const { owner, query } = contextOf(request);
  const texts = await findCustomerTexts(db, owner.organizationId);
  const messages = customerMessages(texts)(refund, refund.work);
  if (messages === null) return null;
  const languages = Object.keys(messages);
  const chosen = entered(query, 'language');
  const language = languages.find((each) => each === chosen) ?? languages[0] ?? '';
  return { language, text: messages[language] ?? '', languages };
}

/** The text to copy, and links to the same in other languages. */
export function CustomerMessage({ page, message }: { page: string; message: ShownMessage }) {
  const { language, text, languages } = message;
  return (
    <Card id="customer-message" title="Message to the customer">
      <nav class="chips" aria-label="Language of the message">
        {languages.map((each) => (
          <Link
            key={each}
            to={`${page}?language=${each}#customer-message`}
            aria-current={each === language ? 'true' : undefined}
          >
            {languageNames.of(each)}
          </Link>
        ))}
      </nav>
      <p class="said" lang={language} dir="auto">
        {text}
      </p>
      <CopyButton text={text} label="the message" />
    </Card>
  );
}
