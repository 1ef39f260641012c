import { writeAudit } from '../../audit/audit-log.ts';
import type { ServiceSettings } from '../../platform/config.ts';
import type { Stores } from '../../platform/database.ts';
import {
  type Ability,
  abilities,
  type CallOptions,
  type ProbedAbility,
  type ProbeResult,
  type Processor,
  type ProcessorFailure,
} from '../contract/processor.ts';
import { abilitiesOf, type Evidence, evidenceOf } from './abilities.ts';
import type { AccountName } from './account.ts';
import { isUnusableCredentials, type ProcessorConnections } from './connections.ts';

/** What a test shows of an ability; `unknown` when nothing has shown it. */
export interface AbilityTest {
  ability: Ability;
  state: 'works' | 'refused' | 'unknown';
  /** Why it does not work, or is unknown; null where nothing is to be said. */
  failure: ProcessorFailure | null;
  /** The processor's name of the missing permission; null where it gives none. */
  permission: string | null;
}

/**
 * The result of a connection test.
 * - `works`: refunds are permitted, and nothing is refused.
 * - `limited`: some abilities are refused.
 * - `unusable`: all of them are, or the credentials can neither read a payment nor refund it, or cannot be decrypted.
 * - `unavailable`: the processor did not say whether it permits refunds.
 */
export interface ConnectionTest {
  verdict: 'works' | 'limited' | 'unusable' | 'unavailable';
  abilities: AbilityTest[];
}

/** A person is waiting. */
const longestMs = 10_000;

const probed: readonly ProbedAbility[] = abilities.filter((ability) => ability !== 'webhooks');

interface TestDependencies extends Stores {
  settings: ServiceSettings;
  connections: ProcessorConnections;
}

/**
 * Tests each ability of an account, without moving money. As with every call, what the processor answers is noted on the account.
 * @param request.actor for the audit log.
 */
export async function testConnection(
  deps: TestDependencies,
  request: { account: AccountName; actor: string },
): Promise<ConnectionTest> {
  const { account, actor } = request;
  const test = await tryOut(deps, account);
  const { id: target, organizationId, environment, processor } = account;
  await deps.db.$transaction(async (tx) => {
    const refused = test.abilities.filter(({ state }) => state === 'refused').map(({ ability }) => ability);
    const detail = { environment, processor, result: test.verdict, refused };
    const entry = { organizationId, actor, action: 'account.tested', target, detail } as const;
    await writeAudit(tx, entry, deps.clock.now());
  });
  return test;
}

async function tryOut(deps: TestDependencies, account: AccountName): Promise<ConnectionTest> {
  let processor: Processor;
  try {
    processor = await deps.connections.connect(account);
  } catch (error) {
    if (!isUnusableCredentials(error)) throw error;
    const failure = { code: 'credentials_unusable', message: error.message };
    const refused = { state: 'refused', failure, permission: null } as const;
    return { verdict: 'unusable', abilities: abilities.map((ability) => ({ ability, ...refused })) };
  }
  const answers = await probeAll(processor, deps.settings);
  return connectionTest(answers, webhooksOf(account, processor));
}

/** The answers of a processor to a probe of each ability. */
export async function probeAll(
  processor: Processor,
  { PROCESSOR_TIMEOUT_MS }: Pick<ServiceSettings, 'PROCESSOR_TIMEOUT_MS'>,
): Promise<Map<ProbedAbility, ProbeResult>> {
  const options: CallOptions = { timeoutMs: Math.min(PROCESSOR_TIMEOUT_MS, longestMs) };
  return new Map(
    await Promise.all(
      probed.map(async (ability) => [ability, await processor.probe(ability, options)] as const),
    ),
  );
}

export function connectionTest(
  answers: ReadonlyMap<ProbedAbility, ProbeResult>,
  webhooks: AbilityTest,
): ConnectionTest {
  const tests = [...answers].map(([ability, answer]) => abilityTest(ability, answer));
  const isRejected = [...answers.values()].some(
    (answer) => answer.kind === 'misconfigured' && answer.scope === 'credentials',
  );
  return { verdict: isRejected ? 'unusable' : verdictOf(tests), abilities: [...tests, webhooks] };
}

/** What the answers say about the abilities, to be noted. */
export function evidenceIn(answers: ReadonlyMap<ProbedAbility, ProbeResult>): Evidence[] {
  return [...answers.values()].flatMap((answer) => evidenceOf('probe', answer));
}

function abilityTest(ability: ProbedAbility, answer: ProbeResult): AbilityTest {
  switch (answer.kind) {
    case 'permitted':
      return { ability, state: 'works', failure: null, permission: null };
    case 'misconfigured': {
      const { failure, permission = null } = answer;
      return { ability, state: 'refused', failure, permission };
    }
    case 'unavailable':
      return { ability, state: 'unknown', failure: answer.failure, permission: null };
  }
}

function verdictOf(tests: readonly AbilityTest[]): ConnectionTest['verdict'] {
  const states = new Map(tests.map(({ ability, state }) => [ability, state]));
  const isRefused = (ability: Ability) => states.get(ability) === 'refused';
  if (isRefused('refund') && isRefused('readPayments')) return 'unusable';
  if (probed.some(isRefused)) return 'limited';
  return states.get('refund') === 'works' ? 'works' : 'unavailable';
}

/** Webhooks are tested by those that arrive. */
function webhooksOf(account: AccountName, processor: Processor): AbilityTest {
  const unset = withoutSecret(processor);
  if (unset !== null) return unset;
  const known = abilitiesOf(account).webhooks;
  if (known?.state === 'refused') {
    const { code = 'refused', message = 'Webhooks are refused.' } = known;
    return { ...untested, state: 'refused', failure: { code, message } };
  }
  return known === undefined ? untested : { ...untested, state: 'works', failure: null };
}

/** What is known of webhooks as long as none has arrived. @returns null when they can be verified. */
export function withoutSecret({ hasWebhookSecret }: Processor): AbilityTest | null {
  if (hasWebhookSecret) return null;
  const message = 'No signing secret is stored with the credentials, so every webhook is refused.';
  return { ...untested, state: 'refused', failure: { code: 'no_webhook_secret', message } };
}

export const untested: AbilityTest = {
  ability: 'webhooks',
  state: 'unknown',
  failure: { code: 'no_event', message: 'No webhook has been verified with these credentials yet.' },
  permission: null,
};
