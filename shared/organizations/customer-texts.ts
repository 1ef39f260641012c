import { isDeepStrictEqual } from 'node:util';
import { writeAudit } from '../audit/audit-log.ts';
import type { Database, Stores } from '../platform/database.ts';
import { ServiceError } from '../platform/errors.ts';
import { changeOrganization, findOrganization } from '../platform/organization.ts';
import {
  type CustomerTexts,
  ownTextsSchema,
  serviceTexts,
  textsInForce,
} from '../refunds/model/customer-texts.ts';

/** The texts of the message to the customer that are in force in an organization. @throws ServiceError not_found for an unknown id. */
export async function findCustomerTexts(db: Database, organizationId: string): Promise<CustomerTexts> {
  const { customerTexts } = await findOrganization(db, organizationId);
  return textsInForce(customerTexts);
}

/**
 * Sets the texts of the message to the customer. Languages that are left out, or are as the service has them, have the texts of
 * the service. Unchanged texts are not written.
 * @param change.json languages with their texts, in JSON; empty for those of the service.
 * @throws ServiceError validation_error saying what is wrong with the first wrong text.
 */
export async function setCustomerTexts(
  { db, clock }: Stores,
  { organizationId, actor, json }: { organizationId: string; actor: string; json: string },
): Promise<void> {
  const texts = Object.fromEntries(
    Object.entries(readTexts(json)).filter(
      ([language, each]) => !isDeepStrictEqual(each, serviceTexts[language]),
    ),
  );
  await changeOrganization(db, organizationId, async (tx) => {
    const { customerTexts } = await findOrganization(tx, organizationId);
    if (isDeepStrictEqual(customerTexts, texts)) return;
    await tx.organization.update({ where: { id: organizationId }, data: { customerTexts: texts } });
    const detail = { languages: Object.keys(texts) };
    const action = 'organization.customer_texts_set' as const;
    await writeAudit(tx, { organizationId, actor, action, target: organizationId, detail }, clock.now());
  });
}

function readTexts(json: string): CustomerTexts {
  const reading = ownTextsSchema.safeParse(parsed(json));
  if (reading.success) return reading.data;
  const { path = [], message } = reading.error.issues[0] ?? {};
  const place = path.length === 0 ? '' : `${path.join('.')}: `;
  throw new ServiceError('validation_error', `texts: ${place}${message}`);
}

function parsed(json: string): unknown {
  try {
    return json.trim() === '' ? {} : JSON.parse(json);
  } catch {
    throw new ServiceError('validation_error', 'texts: must be JSON');
  }
}
