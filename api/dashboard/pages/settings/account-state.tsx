import { abilitiesOf, stateOf } from '#shared/processors/accounts/abilities.ts';
import { abilityLabels, refusalInShort, refusalsOf } from '#shared/processors/accounts/ability-wording.ts';
import type { AccountName } from '#shared/processors/accounts/account.ts';
import {
  type LimitedOperation,
  limitedOperations,
  operationLabels,
} from '#shared/processors/accounts/rate-limits.ts';
import type { ConnectionTest } from '#shared/processors/accounts/test-connection.ts';
import { type Ability, abilities } from '#shared/processors/contract/processor.ts';
import { displayNameOf } from '#shared/processors/registry.ts';
import { Badge } from '../../components/badge.tsx';
import { List } from '../../components/list.tsx';
import { Notice } from '../../components/notice.tsx';
import { Moment } from '../../components/values.tsx';

interface AccountBadgeProps {
  account: AccountName;
  test?: ConnectionTest | undefined;
  now: Date;
}

/** What is known of the account: whether it works only after a test. */
export function AccountBadge({ account, test, now }: AccountBadgeProps) {
  if (account.misconfiguredAt !== null)
    return <Badge tone="bad">{refusalInShort(refusalsOf(account))}</Badge>;
  if (limitedOperations(account, now).length > 0) return <Badge tone="warn">Rate limited</Badge>;
  if (test?.verdict === 'works') return <Badge tone="good">Connected</Badge>;
  return null;
}

export function RateLimits({ limited }: { limited: readonly LimitedOperation[] }) {
  return (
    <>
      {limited.map(({ operation, pausedUntil, limitedUntil }) => (
        <p key={operation}>
          {operationLabels[operation]}: {pausedUntil === null ? 'slowed' : 'paused'} until{' '}
          <Moment at={pausedUntil ?? limitedUntil} />.
        </p>
      ))}
      <p class="small muted">Refunds resume automatically.</p>
    </>
  );
}

/** What the account's credentials may do, as the last calls or a test showed. */
export function Abilities({ account, test }: { account: AccountName; test: ConnectionTest | undefined }) {
  const states = abilities.map((ability) => ({ ability, ...shownState(account, ability, test) }));
  return (
    <List
      caption={`What the credentials of ${displayNameOf(account.processor)} may do`}
      isInCard
      items={states}
      columns={[
        ['Ability', ({ ability }) => abilityLabels[ability]],
        ['State', ({ state }) => <Badge tone={stateTones[state]}>{stateLabels[state]}</Badge>],
        ['Since', ({ since }) => (since === null ? '' : <Moment at={since} />)],
        ['Details', ({ permission, words }) => <Details permission={permission} words={words} />],
      ]}
    />
  );
}

const stateLabels = { works: 'Works', refused: 'Refused', unknown: 'Unknown' } as const;
const stateTones = { works: 'good', refused: 'bad', unknown: 'quiet' } as const;

function Details({ permission, words }: { permission: string | undefined; words: string | undefined }) {
  return (
    <span class="small muted said">
      {permission === undefined ? null : (
        <>
          Missing permission: <code>{permission}</code>.{' '}
        </>
      )}
      {words}
    </span>
  );
}

/** A test that shows nothing of an ability leaves what was known before. */
function shownState(account: AccountName, ability: Ability, test: ConnectionTest | undefined) {
  const known = abilitiesOf(account);
  const tested = test?.abilities.find((each) => each.ability === ability);
  const isShown = tested !== undefined && tested.state !== 'unknown';
  const state = isShown ? tested.state : stateOf(known, ability);
  const stored = known.credentials ?? known[ability];
  const since = stored?.state === state ? new Date(stored.since) : null;
  const permission = isShown ? (tested.permission ?? undefined) : stored?.permission;
  return { state, since, permission, words: tested?.failure?.message ?? stored?.message };
}

export function TestResult({ test, displayName }: { test: ConnectionTest; displayName: string }) {
  switch (test.verdict) {
    case 'works':
      return <Notice tone="good">Connection successful. {displayName} accepts the credentials.</Notice>;
    case 'limited':
      return (
        <Notice tone="warn">
          <strong>{displayName} refuses some of what the service needs.</strong> Add the missing permissions
          in {displayName}, then test again.
        </Notice>
      );
    case 'unusable':
      return (
        <Notice tone="bad">
          <strong>{displayName} rejected the credentials.</strong> Replace them or check their permissions.
        </Notice>
      );
    case 'unavailable':
      return (
        <Notice tone="warn">
          <strong>{displayName} did not say whether it permits refunds.</strong> Test again in a minute.
        </Notice>
      );
  }
}
