import type { FastifyRequest } from 'fastify';
import { z } from 'zod';
import type { ApiDependencies } from '#api/http/dependencies.ts';
import type { Api } from '#api/http/route.ts';
import { type ApiKeySummary, createApiKey, expiryAfter } from '#shared/organizations/api-keys.ts';
import { findAgentKey } from '#shared/organizations/list-api-keys.ts';
import { type AgentLimits, readAgentLimits } from '#shared/policies/agent-limits.ts';
import { takenByKeys } from '#shared/refunds/lifecycle/lookups.ts';
import { Card } from '../../components/card.tsx';
import { Form } from '../../components/form.tsx';
import { Live } from '../../components/live.tsx';
import { Notice } from '../../components/notice.tsx';
import { ShownOnce } from '../../components/shown-once.tsx';
import { Moment } from '../../components/values.tsx';
import { actingIn, confirmed, contextOf, useMember } from '../../http/access.ts';
import { page } from '../../http/page.ts';
import { idInPath } from '../../http/paths.ts';
import { isForPart, useRequest } from '../../http/render.ts';
import { Frame } from '../../layout/frame.tsx';
import { reasonChoices } from '../../words/words.ts';
import { type Approval, readApproval, Unapproved } from '../refunds/approvers.tsx';
import { limitFields, limitsOf, ShownLimits } from './agent-limits.tsx';
import { keyFields } from './api-key-form.tsx';
import { apiKeysPath } from './api-key-list.tsx';
import { Snippets } from './snippets.tsx';

export const newAgentKeyPath = `${apiKeysPath}/agent`;

const newAgentSchema = z.object({ ...keyFields, ...limitFields });

/** `/settings/api-keys/agent` creates a key for an agent; `/settings/api-keys/:keyId` connects a client with it. */
export function agentKeyPages(scope: Api, deps: ApiDependencies): void {
  /** Null for a key that needs no approval. */
  const approvalOf = async (request: FastifyRequest, { agentLimits, createdBy }: ApiKeySummary) =>
    readAgentLimits(agentLimits)?.approvalAbove === undefined
      ? null
      : await readApproval(deps, request, createdBy);
  const newKey = page<NewAgentKeyProps>(scope, newAgentKeyPath, 'admin', () => ({}), NewAgentKey);
  newKey.form(newAgentKeyPath, confirmed('admin'), newAgentSchema, async (request, entries) => {
    const { name, expiresInDays, ...limits } = entries;
    const expiresAt = expiresInDays === null ? null : expiryAfter(expiresInDays, deps.clock.now());
    const agentLimits = limitsOf(limits);
    const { plaintext, key } = await createApiKey(deps, {
      ...{ ...actingIn(request), name, expiresAt, agentLimits },
    });
    return { created: { plaintext, key, approval: await approvalOf(request, key) } };
  });
  const read = async (request: FastifyRequest) => {
    const { owner } = contextOf(request);
    const key = await findAgentKey(deps.db, owner, idInPath(request, 'keyId', 'key'));
    const limits = readAgentLimits(key.agentLimits);
    const currencies = limits === null ? [] : [{ id: key.id, currency: limits.currency }];
    const taken = (await takenByKeys(deps.db, currencies)).get(key.id) ?? 0n;
    return { apiKey: key, limits, taken, approval: await approvalOf(request, key) };
  };
  page(scope, `${apiKeysPath}/:keyId`, 'viewer', read, AgentKey);
}

interface NewAgentKeyProps {
  created?: { key: ApiKeySummary; plaintext: string; approval: Approval | null };
}

function NewAgentKey({ created }: NewAgentKeyProps) {
  const { environment } = useMember();
  return (
    <Frame title="New agent key" section="api-keys">
      <div id="agent-key" class="stack">
        {created === undefined ? (
          <Form
            to={newAgentKeyPath}
            answeredIn="agent-key"
            submit={`Create ${environment} key`}
            schema={newAgentSchema}
            choices={{ reasons: reasonChoices }}
            cancel={apiKeysPath}
          >
            <p class="muted">
              An agent refunds within these limits. It can't approve refunds or manage anything.
            </p>
          </Form>
        ) : (
          <>
            <ShownOnce title="Agent key created" text={created.plaintext} label="API key">
              <p>Copy this key now and store it safely. You won't be able to see it again.</p>
            </ShownOnce>
            <Unapproved approval={created.approval} what="refunds of this key" />
            <FirstCall apiKey={created.key} />
            <Snippets plaintext={created.plaintext} />
          </>
        )}
      </div>
    </Frame>
  );
}

interface AgentKeyProps {
  apiKey: ApiKeySummary;
  /** Null for a row that cannot be read. */
  limits: AgentLimits | null;
  /** What it has refunded in the last 24 hours, in minor units. */
  taken: bigint;
  approval: Approval | null;
}

function AgentKey({ apiKey: key, limits, taken, approval }: AgentKeyProps) {
  const { environment } = useMember();
  if (isForPart(useRequest())) return <FirstCall apiKey={key} />;
  return (
    <Frame title={key.name === '' ? `Agent key ...${key.lastFour}` : key.name} section="api-keys">
      <div class="stack">
        <Unapproved approval={approval} what="refunds of this key" />
        <FirstCall apiKey={key} />
        {limits === null ? null : (
          <Card id="limits" title="Limits">
            <ShownLimits limits={limits} taken={taken} />
          </Card>
        )}
        <Snippets plaintext={`svc_${environment}_...${key.lastFour}`} />
      </div>
    </Frame>
  );
}

/** Whether the agent has called a tool yet, and which; follows it until then. */
function FirstCall({ apiKey: { id, firstTool, firstToolAt, lastUsedAt } }: { apiKey: ApiKeySummary }) {
  return (
    <Live id="first-call" from={`${apiKeysPath}/${id}`} everySeconds={firstTool === null ? 2 : null}>
      {firstTool !== null && firstToolAt !== null ? (
        <Notice tone="good">
          <strong>Connected.</strong> Its first call was <code>{firstTool}</code>, <Moment at={firstToolAt} />
          .
        </Notice>
      ) : lastUsedAt === null ? (
        <Notice tone="wait">Waiting for its first call.</Notice>
      ) : (
        <Notice tone="wait">
          Connected <Moment at={lastUsedAt} />. Waiting for its first call of a tool.
        </Notice>
      )}
    </Live>
  );
}
