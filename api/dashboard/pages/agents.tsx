import { z } from 'zod';
import type { ApiDependencies } from '#api/http/dependencies.ts';
import type { Api } from '#api/http/route.ts';
import type { ApiKeySummary } from '#shared/organizations/api-keys.ts';
import { changeApiKey } from '#shared/organizations/change-api-key.ts';
import { findAgentKey, listAgentKeys } from '#shared/organizations/list-api-keys.ts';
import { nameActors } from '#shared/people/actors.ts';
import { mayAct } from '#shared/people/roles.ts';
import { type AgentLimits, agentLimitsSchema } from '#shared/policies/agent-limits.ts';
import { takenByKeys } from '#shared/refunds/lifecycle/lookups.ts';
import { ButtonLink } from '../components/button.tsx';
import { Confirm } from '../components/dialog.tsx';
import { Post } from '../components/form.tsx';
import { type Column, List } from '../components/list.tsx';
import { Empty } from '../components/notice.tsx';
import { Made } from '../components/values.tsx';
import { contextOf, needs, useMember } from '../http/access.ts';
import { idInPath } from '../http/paths.ts';
import { changesOf } from '../layout/changes.ts';
import { Frame } from '../layout/frame.tsx';
import { inMoney } from '../words/numbers.ts';
import { reasonWords } from '../words/words.ts';
import { KeyStatus, LastUsed } from './settings/api-keys.tsx';

const path = '/agents';
const statusSchema = z.object({ status: z.enum(['active', 'stopped']) });

/** `/agents`: the keys made for agents with their limits and what they have used of them. */
export function agentPages(scope: Api, deps: ApiDependencies): void {
  scope.get(path, needs('viewer'), async (request) => {
    const { owner, organization } = contextOf(request);
    const keys = await listAgentKeys(deps.db, owner);
    const agents = keys.map((key) => ({ ...key, limits: agentLimitsSchema.parse(key.agentLimits) }));
    const currencies = agents.map(({ id, limits: { currency } }) => ({ id, currency }));
    const creators = agents.map(({ createdBy }) => createdBy);
    const taken = await takenByKeys(deps.db, currencies);
    const names = await nameActors(deps.db, organization.id, creators);
    return <AgentsPage {...{ agents, taken, names, now: deps.clock.now() }} />;
  });

  const change = changesOf(scope, path);
  change(
    `${path}/:keyId/status`,
    { ...needs('admin', 'confirmed'), schema: statusSchema },
    ({ status }) => (status === 'stopped' ? 'agent-stopped' : 'agent-resumed'),
    async (request, { status }) => {
      const { owner, actor } = contextOf(request);
      const { id: keyId } = await findAgentKey(deps.db, owner, idInPath(request, 'keyId', 'key'));
      await changeApiKey(deps, { keyId, actor, change: { isStopped: status === 'stopped' } });
    },
  );
}

type AgentKey = ApiKeySummary & { limits: AgentLimits };

interface AgentsProps {
  agents: readonly AgentKey[];
  /** What each key has refunded in the last 24 hours, in minor units of its currency. */
  taken: ReadonlyMap<string, bigint>;
  /** The display names of those who created the keys. */
  names: ReadonlyMap<string, string>;
  now: Date;
}

function AgentsPage({ agents, taken, names, now }: AgentsProps) {
  const { environment, base, role } = useMember();
  const columns: readonly Column<AgentKey>[] = [
    [
      'Agent',
      ({ id, name, lastFour }) => (
        <>
          {name} <code class="nowrap">...{lastFour}</code>
          <a class="detail small" href={`${base}/refunds?apiKeyId=${id}`}>
            Refunds<span class="visually-hidden"> of {name === '' ? lastFour : name}</span>
          </a>
        </>
      ),
    ],
    ['Scopes', (key) => <Scopes agent={key} />],
    ['Limits', ({ id, limits }) => <Limits limits={limits} taken={taken.get(id) ?? 0n} />],
    ['Last used', ({ lastUsedAt }) => <LastUsed at={lastUsedAt} />],
    ['Created', ({ createdAt, createdBy }) => <Made at={createdAt} by={names.get(createdBy)} />],
    ['Status', (key) => <KeyStatus apiKey={key} now={now} />],
    ['Actions', (key) => (mayAct(role, 'admin') ? <StopOrResume agent={key} /> : null), 'actions'],
  ];
  return (
    <Frame title="Agents" section="agents">
      <p class="muted">
        API keys made for agents in the {environment} environment. The service enforces their limits.
      </p>
      {agents.length === 0 ? (
        <Empty title={`No ${environment} agents`} icon="copilot">
          <p>Agents use their own API keys, which limit what they can refund.</p>
          {mayAct(role, 'admin') ? <ButtonLink to="/settings/api-keys">View API keys</ButtonLink> : null}
        </Empty>
      ) : (
        <List caption="Agents, newest first" items={agents} rowId={({ id }) => id} columns={columns} />
      )}
    </Frame>
  );
}

function Scopes({ agent: { scopes, limits } }: { agent: AgentKey }) {
  const { currency, reasons } = limits;
  return (
    <span class="small">
      {scopes.join(', ')}
      <span class="detail muted">
        {currency.toUpperCase()} only
        {reasons === undefined
          ? ', for any reason'
          : `, for: ${reasons.map((reason) => reasonWords[reason]).join(', ')}`}
      </span>
    </span>
  );
}

/** The limits of a key, and what is used of the one that has a period. @param props.taken in the last 24 hours. */
function Limits({ limits, taken }: { limits: AgentLimits; taken: bigint }) {
  const { currency, maxPerRefund, maxPerPayment, maxPerDay, approvalAbove } = limits;
  const lines = [
    [maxPerRefund, 'per refund'],
    [maxPerPayment, 'per payment, with the refunds of others'],
    [approvalAbove, 'per payment without approval'],
  ] as const;
  const used = inMoney(taken, currency);
  return (
    <span class="small">
      {maxPerDay === undefined ? (
        `${used} refunded in 24 hours; no daily limit`
      ) : (
        <>
          {used} of {inMoney(maxPerDay, currency)} in 24 hours{' '}
          <progress max={Number(maxPerDay)} value={Number(taken)} aria-label="Used of the daily limit" />
        </>
      )}
      {lines.map(([amount, scope]) =>
        amount === undefined ? null : (
          <span key={scope} class="detail muted">
            {inMoney(amount, currency)} {scope}
          </span>
        ),
      )}
    </span>
  );
}

function StopOrResume({ agent: { id, name, lastFour, stoppedAt } }: { agent: AgentKey }) {
  const to = `${path}/${id}/status`;
  if (stoppedAt !== null) {
    return (
      <Post to={to} values={{ status: 'active' }}>
        Resume
      </Post>
    );
  }
  return (
    <Confirm
      id={`stop-${id}`}
      action="Stop"
      title={`Stop agent ${name === '' ? '' : `${name} `}...${lastFour}?`}
      kind="danger"
      to={to}
      values={{ status: 'stopped' }}
    >
      <p>Its requests are refused until an admin resumes it. Refunds that it has requested go on.</p>
    </Confirm>
  );
}
