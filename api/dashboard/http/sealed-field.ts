import type { Dependencies } from '#shared/dependencies.ts';
import { SecretUnreadableError } from '#shared/platform/secrets/secrets.ts';

/** How long a form can be sent after its page was opened. */
const lifeMs = 15 * 60 * 1000;

type SealingDependencies = Pick<Dependencies, 'secrets' | 'clock'>;

/**
 * The text of a hidden field that only this service can read and make. It holds what the next step of a form needs, so
 * that nothing is stored for a form that may never be sent.
 * @param purpose what the field is for, and for whom; it cannot be opened for anything else.
 */
export function sealField(deps: SealingDependencies, value: unknown, purpose: string): string {
  const until = deps.clock.now().getTime() + lifeMs;
  const { keyId, bytes } = deps.secrets.seal(JSON.stringify({ value, until }), contextOf(purpose));
  return `${keyId}.${Buffer.from(bytes).toString('base64url')}`;
}

/** The value of a sealed field; null for one that is too old or was not made for this purpose. */
export function openField<T>(deps: SealingDependencies, text: string, purpose: string): T | null {
  const [keyId = '', encoded = ''] = text.split('.', 2);
  const bytes = Buffer.from(encoded, 'base64url');
  try {
    const { value, until } = JSON.parse(deps.secrets.open({ keyId, bytes }, contextOf(purpose)));
    return until > deps.clock.now().getTime() ? value : null;
  } catch (error) {
    if (error instanceof SecretUnreadableError) return null;
    throw error;
  }
}

function contextOf(purpose: string): string {
  return `form-field/${purpose}`;
}
