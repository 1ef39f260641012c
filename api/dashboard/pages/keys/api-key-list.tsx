import { mayAct } from '#shared/access/roles.ts';
import { type ApiKeyStatus, type ApiKeySummary, apiKeyStatus } from '#shared/organizations/api-keys.ts';
import type { CreatedKey } from '#shared/organizations/created-keys.ts';
import type { AgentLimits } from '#shared/policies/agent-limits.ts';
import type { CreatedEndpoint } from '#shared/webhooks/created-endpoints.ts';
import { Badge, type Tone } from '../../components/badge.tsx';
import { Link } from '../../components/button.tsx';
import { Confirm } from '../../components/dialog.tsx';
import { Post } from '../../components/form.tsx';
import { type Column, List } from '../../components/list.tsx';
import { Made, Moment } from '../../components/values.tsx';
import { useMember } from '../../http/access.ts';
import { ShownLimits } from './agent-limits.tsx';

export const apiKeysPath = '/settings/api-keys';
const path = apiKeysPath;

/** Keys, and what is shown of each. */
export interface KeysView {
  keys: readonly ApiKeySummary[];
  now: Date;
  /** The display names of those who created them. */
  names: ReadonlyMap<string, string>;
  /** Of the keys that were made for agents, by id. */
  limits: ReadonlyMap<string, AgentLimits>;
  /** What each of these has refunded in the last 24 hours, in minor units of its currency. */
  taken: ReadonlyMap<string, bigint>;
  /** Those that are neither revoked nor expired. */
  createdWithKeys: readonly CreatedKey[];
  /** The enabled ones, also those that other keys created. */
  endpoints: readonly CreatedEndpoint[];
  /** The scopes that keys have lost with the people behind them. */
  ended: ReadonlyMap<string, readonly string[]>;
}

/** Whether a key can create what outlives it. */
export function mayHaveCreated({ scopes }: Pick<ApiKeySummary, 'scopes'>): boolean {
  return scopes.includes('keys:manage') || scopes.includes('webhooks:manage');
}

/** The keys of a page. */
export function KeyList(view: KeysView) {
  return (
    <List
      caption="API keys, newest first"
      items={view.keys}
      rowId={({ id }) => id}
      columns={useColumns(view)}
    />
  );
}

function useColumns(view: KeysView): readonly Column<ApiKeySummary>[] {
  const { names, ended, limits, taken, now } = view;
  const { role } = useMember();
  const mayManage = mayAct(role, 'admin');
  return [
    [
      'Key',
      ({ id, name, lastFour, agentLimits, environment }) => (
        <>
          <bdi>{name}</bdi> <code class="nowrap">...{lastFour}</code>{' '}
          {agentLimits === null ? null : <Badge tone="quiet">Agent</Badge>}
          <Link class="detail small" to={`/refunds?requestedBy=key:${id}`}>
            Refunds<span class="visually-hidden"> of {name === '' ? lastFour : name}</span>
          </Link>
          <a class="detail small" href={`/docs?key=svc_${environment}_...${lastFour}`}>
            Samples<span class="visually-hidden"> with {name === '' ? lastFour : name}</span>
          </a>
          {agentLimits === null ? null : (
            <Link class="detail small" to={`${path}/${id}`}>
              Connect<span class="visually-hidden"> {name === '' ? lastFour : name}</span>
            </Link>
          )}
        </>
      ),
    ],
    [
      'Scopes and limits',
      ({ id, scopes }) => {
        const own = limits.get(id);
        return (
          <span class="small">
            {scopes.join(', ')}
            <EndedScopes scopes={ended.get(id) ?? []} />
            {own === undefined ? null : <ShownLimits limits={own} taken={taken.get(id) ?? 0n} />}
          </span>
        );
      },
    ],
    ['Created', ({ createdAt, createdBy }) => <Made at={createdAt} by={names.get(createdBy)} />],
    ['Last used', ({ lastUsedAt }) => <LastUsed at={lastUsedAt} />],
    ['Status', (key) => <KeyStatus apiKey={key} now={now} />],
    [
      'Actions',
      (key) =>
        key.revokedAt === null && mayManage ? (
          <div class="row">
            {key.agentLimits === null ? null : <StopOrResume apiKey={key} />}
            <Revoke {...view} apiKey={key} />
          </div>
        ) : null,
      'actions',
    ],
  ];
}

function Revoke({ createdWithKeys, endpoints, apiKey }: KeysView & { apiKey: ApiKeySummary }) {
  const { id, name, lastFour } = apiKey;
  const isItsOwn = ({ creator }: { creator: string }) => creator === `key:${id}`;
  return (
    <Confirm
      id={`revoke-${id}`}
      action="Revoke"
      title={`Revoke API key ${name === '' ? '' : `${name} `}...${lastFour}?`}
      kind="danger"
      to={`${path}/${id}/revoke`}
    >
      <p>Requests with this key will fail immediately. This can't be undone.</p>
      {/* Shown also when there are none: the key may create one before it is revoked. */}
      {mayHaveCreated(apiKey) ? (
        <label>
          <input type="checkbox" name="withCreated" value="yes" />
          <span>
            Also revoke the keys ({createdWithKeys.filter(isItsOwn).length} now) and disable the webhook
            endpoints ({endpoints.filter(isItsOwn).length} now) that were created with it.
          </span>
        </label>
      ) : null}
    </Confirm>
  );
}

function StopOrResume({ apiKey: { id, name, lastFour, stoppedAt } }: { apiKey: ApiKeySummary }) {
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

function EndedScopes({ scopes }: { scopes: readonly string[] }) {
  if (scopes.length === 0) return null;
  return (
    <span class="detail muted">{scopes.join(', ')} ended with the role of the person behind this key</span>
  );
}

function LastUsed({ at }: { at: Date | null }) {
  return at === null ? <span class="muted">Never</span> : <Moment at={at} />;
}

const statuses: Record<ApiKeyStatus, { word: string; tone: Tone }> = {
  active: { word: 'Active', tone: 'good' },
  stopped: { word: 'Stopped', tone: 'warn' },
  expired: { word: 'Expired', tone: 'quiet' },
  revoked: { word: 'Revoked', tone: 'quiet' },
};

/** Whether a key works, since when not, and until when. */
function KeyStatus({ apiKey, now }: { apiKey: ApiKeySummary; now: Date }) {
  const status = apiKeyStatus(apiKey, now);
  const { word, tone } = statuses[status];
  const { revokedAt, stoppedAt, expiresAt } = apiKey;
  const since = status === 'expired' ? expiresAt : (revokedAt ?? stoppedAt);
  return (
    <span>
      <Badge tone={tone}>{word}</Badge> {since && <Moment at={since} />}
      {since === null && expiresAt !== null ? (
        <span class="detail small muted">
          Expires <Moment at={expiresAt} />
        </span>
      ) : null}
    </span>
  );
}
