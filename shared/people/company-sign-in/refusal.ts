import { writeAudit } from '../../audit/audit-log.ts';
import type { Stores } from '../../platform/database.ts';
import { type ErrorCode, ServiceError } from '../../platform/errors.ts';

const again = 'The sign-in was refused, was used before, or has expired. Start again.';
const misconfigured = "Your company's sign-in was refused because of its settings. Ask your administrator.";
const unanswered =
  "Your company's sign-in does not answer. Try again in a minute. If it persists, ask your administrator.";
const unusable = 'Your email address cannot be used here. Ask the operator of this service.';

/** Why a sign-in is refused: the words for the person who signs in, and those for the one who sets the provider up. */
const wordsOfCauses = {
  unanswered: [unanswered, 'The provider does not answer.'],
  unreadable_answer: [
    misconfigured,
    'The provider does not answer as OpenID Connect requires. Check the issuer.',
  ],
  many_tenants: [misconfigured, 'The issuer stands for many tenants. Enter the issuer of your own.'],
  no_shared_method: [
    misconfigured,
    'The provider accepts neither client_secret_basic nor client_secret_post.',
  ],
  client_refused: [misconfigured, 'The provider refused the client ID or the client secret.'],
  scope_refused: [misconfigured, 'The provider refused the scopes.'],
  provider_refused: [again, 'The provider refused the sign-in.'],
  code_refused: [again, 'The provider refused the code of the sign-in.'],
  callback_invalid: [again, 'The callback does not belong to the sign-in.'],
  token_invalid: [again, 'The ID token is not valid: its signature, issuer, audience, nonce or time.'],
  user_info_refused: [misconfigured, 'The provider refused the claims at its UserInfo endpoint.'],
  no_subject: [
    'Your company account has no valid subject. Ask its administrator.',
    'The account has no valid sub.',
  ],
  no_role: [
    'Your company account has no role here. Ask the administrator of your company account for one.',
    'The claim for roles has none of the values that the settings name.',
  ],
  too_many_groups: [
    'Your company account is in too many groups to be sent with a sign-in. Ask its administrator to send only the groups that are assigned to this application.',
    'The account has more groups than the provider sends.',
  ],
  no_email: [
    'Your company account has no verified email address. Ask its administrator to add one.',
    'The account has no valid email address.',
  ],
  email_not_verified: [
    'Your company account has no verified email address. Ask its administrator to add one.',
    'The provider does not say that the email address is verified.',
  ],
  address_unusable: [unusable, 'The user is disabled, or belongs to another organization as well.'],
  not_recent: [
    "Your company's sign-in did not ask who you are. Sign out there, and start again.",
    'The provider did not ask for a new sign-in to confirm.',
  ],
  no_sign_in_time: [
    "Your company's sign-in no longer says when you signed in. Ask your administrator.",
    'The provider said when people signed in before, and did not this time.',
  ],
  settings_changed: ['The settings were just changed. Start again.', 'The settings were changed meanwhile.'],
} as const satisfies Record<string, readonly [forPeople: string, forAdmins: string]>;

export type RefusalCause = keyof typeof wordsOfCauses;

/** A refused sign-in with a company's account. Its message is for the person who signs in. */
export class SignInRefusal extends ServiceError {
  override readonly cause: RefusalCause;
  /** The error code that the provider answered with, or that of the connection. */
  readonly answer: string | undefined;
  /** Whose account it is; undefined before the ID token was verified. */
  subject: string | undefined;

  constructor(cause: RefusalCause, answer?: string) {
    const code: ErrorCode = cause === 'unanswered' ? 'service_unavailable' : 'insufficient_scope';
    super(code, wordsOfCauses[cause][0], { ...(cause === 'unanswered' && { retryAfterSeconds: 60 }) });
    this.cause = cause;
    // Anyone may write into a callback.
    this.answer = /^\w{1,40}$/.test(answer ?? '') ? answer : undefined;
  }

  /** What is wrong, for the one who sets the provider up. */
  get forAdmins(): string {
    const words = wordsOfCauses[this.cause][1];
    return this.answer === undefined ? words : `${words} Its answer: ${this.answer}.`;
  }
}

const hourMs = 60 * 60 * 1000;

/** Writes a refusal into the audit log, once an hour for each cause and account: anyone may cause one, and entries are kept. */
export async function auditRefusal(
  { db, clock }: Stores,
  organizationId: string,
  { cause, answer, subject }: SignInRefusal,
): Promise<void> {
  const now = clock.now();
  const detail = {
    cause,
    ...(answer !== undefined && { answer }),
    ...(subject !== undefined && { subject }),
  };
  const entry = { organizationId, actor: 'service', action: 'company_sign_in.refused' } as const;
  const recent = await db.auditLog.findMany({
    where: { ...entry, createdAt: { gt: new Date(now.getTime() - hourMs) } },
    select: { detail: true },
  });
  const isKnown = recent.some(({ detail: known }) => isAbout(known, detail));
  if (!isKnown) await writeAudit(db, { ...entry, target: organizationId, detail }, now);
}

function isAbout(known: unknown, { cause, subject }: { cause: string; subject?: string }): boolean {
  const entry = known as { cause?: unknown; subject?: unknown };
  return entry.cause === cause && entry.subject === subject;
}
