import { createHash } from 'node:crypto';
import { isDeepStrictEqual } from 'node:util';
import { writeAudit } from '../audit/audit-log.ts';
import type { Database, Stores } from '../platform/database.ts';
import { ServiceError } from '../platform/errors.ts';
import { canonicalJson } from '../platform/formats/json.ts';
import { changeOrganization, findOrganization } from '../platform/organization.ts';
import { type CustomerTexts, ownTextsSchema, textsInForce } from '../refunds/model/customer-texts.ts';

/** The texts of the message to the customer that are in force in an organization. @throws ServiceError not_found for an unknown id. */
export async function findCustomerTexts(db: Database, organizationId: string): Promise<CustomerTexts> {
  const { customerTexts } = await findOrganization(db, organizationId);
  return textsInForce(customerTexts);
}

/** A fingerprint of texts. Detects concurrent changes. */
export function digestCustomerTexts(texts: CustomerTexts): string {
  return createHash('sha256').update(canonicalJson(texts)).digest('base64url');
}

/** A change of an organization's texts. */
interface TextsChange {
  organizationId: string;
  /** Recorded in the audit log. */
  actor: string;
  /** The digest of the texts in force that the change is based on. */
  basedOn: string;
  /** By language; empty for those of the service. */
  texts: unknown;
}

/**
 * Sets the texts of the message to the customer, or answers `conflict` and changes nothing when those in force are not those that the
 * change is based on. Languages that are left out, or are as the service has them, have the texts of the service. Unchanged texts are
 * `saved` and not written.
 * @throws ServiceError validation_error saying what is wrong with the first wrong text.
 */
export async function setCustomerTexts(
  { db, clock }: Stores,
  { organizationId, actor, basedOn, texts: entered }: TextsChange,
): Promise<'saved' | 'conflict'> {
  const texts = readTexts(entered);
  return await changeOrganization(db, organizationId, async (tx) => {
    const { customerTexts } = await findOrganization(tx, organizationId);
    if (isDeepStrictEqual(customerTexts, texts)) return 'saved';
    if (digestCustomerTexts(textsInForce(customerTexts)) !== basedOn) return 'conflict';
    await tx.organization.update({ where: { id: organizationId }, data: { customerTexts: texts } });
    const detail = { languages: Object.keys(texts) };
    const action = 'organization.customer_texts_set' as const;
    await writeAudit(tx, { organizationId, actor, action, target: organizationId, detail }, clock.now());
    return 'saved';
  });
}

function readTexts(texts: unknown): CustomerTexts {
  const reading = ownTextsSchema.safeParse(texts);
  if (reading.success) return reading.data;
  const { path = [], message } = reading.error.issues[0] ?? {};
  const place = path.length === 0 ? '' : `${path.join('.')}: `;
  throw new ServiceError('validation_error', `texts: ${place}${message}`);
}
