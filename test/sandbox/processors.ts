import { braintree } from './braintree/processor.ts';
import type { Environment, WebhookEndpoint } from './ledger.ts';
import type { SandboxProcessor } from './processor.ts';
import { stripe } from './stripe/processor.ts';

/** The sandbox's processors, by name. */
export const sandboxProcessors = { stripe, braintree } satisfies Record<string, SandboxProcessor>;

export type ProcessorName = keyof typeof sandboxProcessors;

/** Every processor. A test that holds for all of them iterates over this list. */
export const PROCESSORS = Object.keys(sandboxProcessors) as ProcessorName[];

type Credentials = {
  [Name in ProcessorName]: ReturnType<(typeof sandboxProcessors)[Name]['credentials']> & { apiBase: string };
};

/** Credentials of the sandbox's accounts, by processor. @param account the name of one. */
export function sandboxCredentials(environment: Environment, apiBase: string, account?: string): Credentials {
  const entries = Object.values(sandboxProcessors).map((processor) => [
    processor.name,
    { ...processor.credentials(environment, account), apiBase },
  ]);
  return Object.fromEntries(entries) as Credentials;
}

/** Has the events of the sandbox's account sent to a URL. */
export function webhookEndpoint(
  { name, credentials, webhooks }: SandboxProcessor,
  environment: Environment,
  url: string,
): WebhookEndpoint {
  return { ...webhooks.keysOf(credentials(environment)), processor: name, environment, url };
}
