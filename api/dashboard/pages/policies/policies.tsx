import type { FastifyReply, FastifyRequest } from 'fastify';
import type { ApiDependencies } from '#api/http/dependencies.ts';
import type { Api } from '#api/http/route.ts';
import { mayAct } from '#shared/access/roles.ts';
import { type Replay, replayedDays, replayPolicies } from '#shared/insights/replay.ts';
import { ServiceError } from '#shared/platform/errors.ts';
import { type Policy, policySchema } from '#shared/policies/policy.ts';
import { digestPolicies } from '#shared/policies/policy-file.ts';
import { changePolicies, listPolicies } from '#shared/policies/stored-policies.ts';
import { ButtonLink } from '../../components/button.tsx';
import { keptWhenRefused } from '../../components/live.tsx';
import { Notice } from '../../components/notice.tsx';
import { contextOf, needs, useAddress, useMember } from '../../http/access.ts';
import { entered, type FormProblems } from '../../http/forms.ts';
import { isForPart, useRequest } from '../../http/render.ts';
import { leadTo } from '../../layout/done.tsx';
import { Frame } from '../../layout/frame.tsx';
import {
  checkEnteredPolicy,
  enteredPolicyOf,
  fileWith,
  newEnteredPolicy,
  readEnteredPolicy,
} from './entered-policy.ts';
import { initiators, PolicyCards } from './policy-cards.tsx';
import { policyFields } from './policy-fields.ts';
import { PolicyForm, type PolicyFormProps, policyFormId } from './policy-form.tsx';
import { ReplayCard } from './replay-card.tsx';

const admin = needs('admin');
const confirmed = needs('admin', 'confirmed');
const conflict = 'Someone else changed the policies. Reload and try again.';

/** The policies of an organization as cards, and a form that adds or edits one of them. */
export function policyPages(scope: Api, deps: ApiDependencies): void {
  const policiesFor = (request: FastifyRequest) => listPolicies(deps.db, contextOf(request).organization.id);

  scope.get('/policies', needs('viewer'), async (request) => (
    <PoliciesPage policies={await policiesFor(request)} />
  ));

  scope.get('/policies/new', admin, async (request) => {
    const policies = await policiesFor(request);
    // Checked before all others by default: a policy after one for every refund is never applied.
    const priority = Math.max(0, (policies[0]?.priority ?? 20) - 10);
    const policy = newEnteredPolicy(priority);
    return <Editor basedOn={digestPolicies(policies)} replaces="" policy={policy} />;
  });

  /** Shows a form beside what the policies would have decided with it. */
  const showReplay = async (
    request: FastifyRequest,
    form: PolicyFormProps,
    current: readonly Policy[],
    proposed: readonly Policy[],
  ) => {
    const sets = { current, proposed };
    try {
      const replay = await replayPolicies(deps, contextOf(request).owner, sets);
      return <Editor {...form} replay={replay} />;
    } catch (error) {
      const isBusy = error instanceof ServiceError && error.code === 'service_unavailable';
      // A page opens without it; a part of one keeps what it showed.
      if (!isBusy || isForPart(request)) throw error;
      return <Editor {...form} problems={{ form: error.message }} />;
    }
  };

  scope.get('/policies/edit', admin, async (request) => {
    const policies = await policiesFor(request);
    const policy = policies.find(({ name }) => name === entered(request.query, 'name'));
    if (policy === undefined) throw new ServiceError('not_found', 'Policy not found.');
    const stored = { basedOn: digestPolicies(policies), replaces: policy.name };
    const block = entered(request.query, 'block');
    if (block === '') return <Editor {...stored} policy={enteredPolicyOf(policy)} />;
    const blocking = { ...enteredPolicyOf(policy), [`enforce.${block}`]: 'yes' };
    const reading = checkEnteredPolicy(policies, blocking, policy.name);
    const proposed = reading.kind === 'valid' ? reading.value : policies;
    return await showReplay(request, { ...stored, policy: blocking }, policies, proposed);
  });

  /** Changes the stored policies if they are still those that the form or the button was shown with. */
  const change = async (
    request: FastifyRequest,
    reply: FastifyReply,
    fileOf: (stored: readonly Policy[]) => object | null,
    onConflict: () => Promise<unknown>,
  ) => {
    const { organization, actor } = contextOf(request);
    const basedOn = entered(request.body, 'basedOn');
    const outcome = await changePolicies(deps, {
      ...{ organizationId: organization.id, actor, basedOn },
      change: fileOf,
    });
    if (outcome === 'saved') return leadTo(reply, '/policies', 'policies-saved');
    reply.code(409);
    return await onConflict();
  };

  /** Reads the form, and says how to show it again. */
  const readEditor = async (request: FastifyRequest, reply: FastifyReply) => {
    const { body } = request;
    const [basedOn, replaces] = [entered(body, 'basedOn'), entered(body, 'replaces')];
    const form = { basedOn, replaces, policy: readEnteredPolicy(body) };
    const current = await policiesFor(request);
    const reading = checkEnteredPolicy(current, form.policy, replaces);
    const refuse = (problems: FormProblems) => {
      reply.code(400);
      return <Editor {...form} problems={problems} />;
    };
    const conflicted = <Editor {...form} problems={{ form: conflict }} isStale />;
    return { form, current, reading, refuse, conflicted };
  };

  scope.post('/policies', confirmed, async (request, reply) => {
    const { form, reading, refuse, conflicted } = await readEditor(request, reply);
    if (reading.kind === 'invalid') return refuse(reading.problems);
    const fileOf = (stored: readonly Policy[]) => fileWith(stored, form.policy, form.replaces);
    return await change(request, reply, fileOf, async () => conflicted);
  });

  scope.post('/policies/replay', admin, async (request, reply) => {
    const { form, current, reading, refuse, conflicted } = await readEditor(request, reply);
    if (reading.kind === 'invalid') return refuse(reading.problems);
    if (digestPolicies(current) !== form.basedOn) {
      reply.code(409);
      return conflicted;
    }
    return await showReplay(request, form, current, reading.value);
  });

  scope.post('/policies/delete', confirmed, (request, reply) =>
    change(
      request,
      reply,
      (stored) => fileWithout(stored, request.body),
      async () => <PoliciesPage policies={await policiesFor(request)} problem={conflict} />,
    ),
  );
}

/** Null for a policy that was renamed or deleted since the page was opened. */
function fileWithout(stored: readonly Policy[], body: unknown): object | null {
  const kept = stored.filter(({ name }) => name !== entered(body, 'name'));
  const isKept = kept.length === stored.length;
  return isKept ? null : { policies: kept.map((each) => policySchema.encode(each)) };
}

interface PoliciesPageProps {
  policies: readonly Policy[];
  /** Why the last action did nothing. */
  problem?: string;
}

function PoliciesPage({ policies, problem }: PoliciesPageProps) {
  const isEditable = mayAct(useMember().role, 'admin');
  const add = (
    <ButtonLink kind="primary" to="/policies/new">
      Add policy
    </ButtonLink>
  );
  return (
    <Frame title="Policies" section="policies" actions={isEditable ? add : undefined}>
      {problem === undefined ? null : <Notice tone="bad">{problem}</Notice>}
      <p class="muted">Policies apply to test and live. The first policy that matches a refund decides.</p>
      <PolicyCards {...{ policies, isEditable }} basedOn={digestPolicies(policies)} />
    </Frame>
  );
}

/** The form, beside what its policy would have decided, which follows the form as it changes. */
function Editor({ replay, ...form }: PolicyFormProps & { replay?: Replay }) {
  const address = useAddress('/policies/replay');
  const { environment, query } = useMember();
  const block = Object.entries(initiators).find(([initiator]) => initiator === entered(query, 'block'));
  const result = replay && <ReplayCard replay={replay} />;
  if (isForPart(useRequest())) return result ?? <NoReplay problems={form.problems} />;
  return (
    <Frame title={form.replaces === '' ? 'Add policy' : 'Edit policy'} section="policies">
      <div class="with-beside">
        <div
          class="beside stack"
          hx-post={address}
          hx-include={`#${policyFormId}`}
          hx-trigger={`change from:#${policyFormId} delay:300ms`}
          hx-sync="this:replace"
          {...keptWhenRefused}
        >
          {block && <Notice tone="wait">Save to block what this policy denies {block[1]}.</Notice>}
          {result ?? (
            <p class="muted">
              Change a field to see what the policies would have decided about the {environment} refunds of
              the last {replayedDays} days.
            </p>
          )}
        </div>
        <PolicyForm {...form} />
      </div>
    </Frame>
  );
}

/** The first of the problems, which the form shows once it is sent. */
function NoReplay({ problems = {} }: { problems: FormProblems | undefined }) {
  const [[field, problem] = []] = Object.entries(problems);
  const label = policyFields.find(({ name }) => name === field)?.label;
  return (
    <Notice tone="warn">
      No replay. {label && `${label}: `}
      {problem}
    </Notice>
  );
}
