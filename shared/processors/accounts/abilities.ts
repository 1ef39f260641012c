import type { Database, ProcessorAccount } from '../../platform/database.ts';
import type { Logger } from '../../platform/log.ts';
import type { Call } from '../contract/calls.ts';
import {
  type Ability,
  abilities,
  type CallAnswer,
  type Misconfigured,
  type ProbeResult,
  type ProcessorFailure,
} from '../contract/processor.ts';

/** What the last evidence says of an ability, and since when. */
export interface AbilityState {
  state: 'works' | 'refused';
  /** ISO 8601. */
  since: string;
  /** Why it is refused: the processor's code and words. */
  code?: string;
  message?: string;
  /** The processor's name of the missing permission, where it gives one. */
  permission?: string;
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

/** A call for what it answers; a probe is made for what it shows. */
export type Operation = Exclude<Call, 'probe'>;

/** The ability that a call needs; a probe names its own. */
const abilityOfCall: Record<Operation, Ability> = {
  getPayment: 'readPayments',
  createRefund: 'refund',
  findRefund: 'list',
  getRefund: 'list',
  listRefunds: 'list',
  cancelRefund: 'cancel',
};

/** Answers that prove that a call was permitted. A refusal does not: the adapter may have refused without a call. */
const accepting: ReadonlySet<string> = new Set(['found', 'accepted', 'mismatched', 'cancelled']);

/** What an answer says about what the credentials may do; a refusal of one object says nothing. */
export function evidenceOf(call: Call, answer: CallAnswer): Evidence[] {
  if (answer.kind === 'permitted') return [{ ability: answer.ability, failure: null }];
  const own = call === 'probe' ? undefined : abilityOfCall[call];
  if (answer.kind === 'misconfigured') return refused(answer, own);
  if (own === undefined || !accepting.has(answer.kind)) return [];
  const disputes = answer.kind === 'found' ? disputesOf(answer.value) : undefined;
  return [{ ability: own, failure: null }, ...(disputes === undefined ? [] : evidenceOf('probe', disputes))];
}

export interface Evidence {
  ability: Ability | 'credentials';
  /** Why it is refused; null when it works. */
  failure: ProcessorFailure | null;
  permission?: string | undefined;
}

function refused(
  { scope, failure, permission, ability: named }: Misconfigured,
  own: Ability | undefined,
): Evidence[] {
  if (scope === 'credentials') return [{ ability: 'credentials', failure }];
  const ability = named ?? own;
  return scope === 'object' || ability === undefined ? [] : [{ ability, failure, permission }];
}

/** Of a payment. */
function disputesOf(value: unknown): ProbeResult | undefined {
  return ((value ?? {}) as { disputes?: ProbeResult }).disputes;
}

/**
 * True when the evidence changes what is known: the state, or which permission is missing. Only an ability itself clears its refusal; any
 * success clears that of the credentials.
 */
export function isNews(known: Abilities, { ability, failure, permission }: Evidence): boolean {
  const { state, permission: missing } = known[ability] ?? {};
  if (failure !== null) return state !== 'refused' || missing !== permission;
  return state !== 'works' || known.credentials !== undefined;
}

/**
 * Notes on the account what an answer says about what its credentials may do, unless they have been replaced since they were used; see
 * prisma/functions/accounts/note_ability.sql.
 * @returns what is known then; null when they have been replaced.
 */
export async function noteAbility(
  { db, log }: { db: Database; log: Logger },
  { id: accountId, updatedAt }: Pick<ProcessorAccount, 'id' | 'updatedAt'>,
  { ability, failure, permission }: Evidence,
): Promise<Abilities | null> {
  if (failure !== null) log.error({ accountId, ability, failure }, 'the processor refuses an account');
  const evidence = JSON.stringify({ state: failure === null ? 'works' : 'refused', ...failure, permission });
  const [row] = await db.$queryRaw<{ known: Abilities | null }[]>`
    SELECT note_ability(${accountId}, ${updatedAt}, ${ability}, ${evidence}::jsonb) AS known`;
  return row?.known ?? null;
}
