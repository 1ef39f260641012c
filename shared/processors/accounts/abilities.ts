import type { Dependencies } from '../../dependencies.ts';
import type { ProcessorAccount } from '../../platform/database.ts';
import {
  type Ability,
  abilities,
  type CallAnswer,
  type Misconfigured,
  type Processor,
} from '../contract/processor.ts';

/** What the last evidence says of an ability, and since when. */
export interface AbilityState {
  state: 'works' | 'refused';
  /** ISO 8601. */
  since: string;
  /** Why it is refused: the processor's code and words. */
  code?: string;
  message?: string;
}

/**
 * The column `abilities` of an account. An ability without an entry is unknown. `credentials` is there while the processor refuses every
 * call, which says nothing about what they may do otherwise.
 */
export type Abilities = Partial<Record<Ability | 'credentials', AbilityState>>;

export function abilitiesOf({ abilities: stored }: Pick<ProcessorAccount, 'abilities'>): Abilities {
  return stored as Abilities;
}

/** An ability as people and clients see it: every one is refused while the credentials are. */
export function stateOf(known: Abilities, ability: Ability): 'works' | 'refused' | 'unknown' {
  return known.credentials?.state ?? known[ability]?.state ?? 'unknown';
}

/** Which of them are refused, the credentials first. */
export function refusedAbilities(known: Abilities): (Ability | 'credentials')[] {
  return (['credentials', ...abilities] as const).filter((ability) => known[ability]?.state === 'refused');
}

/** The ability that a call needs. */
const abilityOfCall: Record<Exclude<keyof Processor, 'verifyWebhook' | 'answerChallenge'>, Ability> = {
  getPayment: 'readPayments',
  createRefund: 'refund',
  findRefund: 'list',
  getRefund: 'list',
  listRefunds: 'list',
  cancelRefund: 'cancel',
};

export type Operation = keyof typeof abilityOfCall;

/** Answers that prove that a call was permitted. A refusal does not: the adapter may have refused without a call. */
const accepting: ReadonlySet<string> = new Set(['found', 'accepted', 'mismatched', 'cancelled']);

/** What an answer says about what the credentials may do; a refusal of one object says nothing. */
export function evidenceOf(operation: Operation, answer: CallAnswer): Evidence[] {
  if (answer.kind === 'misconfigured') {
    if (answer.scope === 'object') return [];
    return [{ ability: refusedAbility(operation, answer), failure: answer.failure }];
  }
  if (!accepting.has(answer.kind)) return [];
  const works = { ability: abilityOfCall[operation], failure: null };
  const unread = answer.kind === 'found' ? unreadDisputesOf(answer.value) : undefined;
  return unread === undefined ? [works] : [works, { ability: 'disputes', failure: unread }];
}

/** `failure`: why it is refused; null when it works. */
export interface Evidence {
  ability: Ability | 'credentials';
  failure: Misconfigured['failure'] | null;
}

function refusedAbility(operation: Operation, { scope, ability }: Misconfigured): Evidence['ability'] {
  return scope === 'credentials' ? 'credentials' : (ability ?? abilityOfCall[operation]);
}

function unreadDisputesOf(value: unknown): Misconfigured['failure'] | undefined {
  const { unreadDisputes } = (value ?? {}) as { unreadDisputes?: Misconfigured['failure'] };
  return unreadDisputes;
}

/** True when the evidence changes what is known. Only an ability itself clears its refusal; any success clears that of the credentials. */
export function isNews(known: Abilities, { ability, failure }: Evidence): boolean {
  if (failure !== null) return known[ability]?.state !== 'refused';
  return known[ability]?.state !== 'works' || known.credentials !== undefined;
}

/**
 * Notes on the account what an answer says about what its credentials may do, unless they have been replaced since they were used; see
 * prisma/functions/accounts/note_ability.sql.
 * @returns what is known then; null when they have been replaced.
 */
export async function noteAbility(
  { db, log }: Pick<Dependencies, 'db' | 'log'>,
  { id: accountId, updatedAt }: Pick<ProcessorAccount, 'id' | 'updatedAt'>,
  { ability, failure }: Evidence,
): Promise<Abilities | null> {
  if (failure !== null) log.error({ accountId, ability, failure }, 'the processor refuses an account');
  const evidence = JSON.stringify({ state: failure === null ? 'works' : 'refused', ...failure });
  const [row] = await db.$queryRaw<{ known: Abilities | null }[]>`
    SELECT note_ability(${accountId}, ${updatedAt}, ${ability}, ${evidence}::jsonb) AS known`;
  return row?.known ?? null;
}
